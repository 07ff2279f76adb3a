import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasUnseen } from '../../../src/kernel/visible.js';
import { eventLine, parseLine } from '../../../src/journal/event-line.js';

describe('the line of an event', () => {
  it('has nothing in it that a terminal acts on, and says the same', () => {
    const message = '\u001b[31m\n\u009b31m\u007f\u202e\u2028\u2066\u00ad\u200b\u{e0067} ä 漢';
    const event = {
      time: '2024-01-01T00:00:00.000Z',
      seq: 7,
      type: 'flood',
      reason: '',
      plugin: '',
      socket: '',
      message,
    } as const;
    const line = eventLine(event);
    assert.equal(hasUnseen(line.slice(0, -1)), false);
    assert.deepEqual(parseLine(line), { kind: 'event', event });
  });
});
