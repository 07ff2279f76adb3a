import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Spool } from '../../../src/journal/spool.js';
import type { BrokerEvent } from '../../../src/model/event.js';
import { FakeClock } from '../../support/fake-clock.js';

function event(seq: number): BrokerEvent {
  return { time: '', seq, type: 'state', reason: '', plugin: '', socket: '', message: `e${seq}` };
}

describe('the spool of events', () => {
  it('writes an event after the small file that came while that was written', async () => {
    const clock = new FakeClock();
    const kept = [event(1)];
    let text = '';
    const spool: Spool = new Spool(
      {
        readTail: () => Promise.resolve(undefined),
        append: (more) => Promise.resolve(void (text += more)),
        replace: (whole) => {
          spool.add(event(2));
          text = whole;
          return Promise.resolve();
        },
      },
      clock,
      () => kept,
    );
    spool.found(5 * 1024 * 1024);
    spool.add(event(1));
    await clock.advance(1000);
    const numbers = text.split('\n').flatMap((line) => /"message":"(e\d)"/.exec(line)?.[1] ?? []);
    assert.deepEqual(numbers, ['e1', 'e2']);
  });

  it('makes a file small that turns out to be long while events are written to it', async () => {
    const clock = new FakeClock();
    let [appended, text] = ['', ''];
    const spool: Spool = new Spool(
      {
        readTail: () => Promise.resolve(undefined),
        append: (more) => {
          spool.found(5 * 1024 * 1024);
          return Promise.resolve(void (appended += more));
        },
        replace: (whole) => Promise.resolve(void (text = whole)),
      },
      clock,
      () => [event(1)],
    );
    spool.add(event(1));
    await clock.advance(1000);
    assert.match(appended, /"message":"e1"/);
    assert.match(text, /"message":"e1"/);
  });

  it('tries again to make a file small that the disk did not replace', async () => {
    const clock = new FakeClock();
    let replaced = 0;
    const spool = new Spool(
      {
        readTail: () => Promise.resolve(undefined),
        append: () => Promise.resolve(),
        replace: () => ((replaced += 1) === 1 ? Promise.reject(new Error('the disk is full')) : Promise.resolve()),
      },
      clock,
      () => [event(1)],
    );
    spool.found(5 * 1024 * 1024);
    await clock.advance(60_000);
    assert.equal(replaced, 2);
  });
});
