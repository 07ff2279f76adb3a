import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { WakeUp } from '../../../src/device-plugin/wake-up.js';

describe('a waiter', () => {
  it('waits on for a ring when its pause is longer than a timer can hold', async () => {
    for (const farMs of [2 ** 31, Infinity]) {
      const wakeUp = new WakeUp<string>();
      const waiting = wakeUp.wait(farMs);
      await pause(20); // a timer that overflowed rings after a millisecond
      wakeUp.ring('here');
      assert.equal(await waiting, 'here', String(farMs));
    }
  });
});
