import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { guardPlugins } from '../../../../src/platform/grpc/guarding.js';
import { DEFAULT_GUARD } from '../../../../src/platform/http2/default-guard.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { silentLog } from '../../../support/silence.js';

describe('the turns of dialling drivers again', () => {
  const clock = new FakeClock();
  const comebackMs = guardPlugins({
    ...{ clock, log: silentLog, ownUid: 900 },
    // Uids from 100,000 on are of the user who has 4001.
    userOf: (uid) => (uid >= 100_000 ? 4001 : uid),
    events: { record: () => undefined },
    guard: () => DEFAULT_GUARD,
    reads: () => undefined,
    count: () => undefined,
  }).comebackMs;
  const waits = (uid: number, times: number): number[] => Array.from({ length: times }, () => comebackMs?.(uid) ?? NaN);

  it('come some at once and then at a pace, for all uids of an ordinary user together', async () => {
    assert.deepEqual(new Set([...waits(4001, 32), ...waits(100_007, 32)]), new Set([0]));
    assert.deepEqual(waits(4001, 3), [50, 100, 150]);
    assert.deepEqual(waits(4002, 1), [0], 'another user');
    await clock.advance(150);
    assert.deepEqual(waits(100_007, 1), [50]);
  });

  it('never come later than all connections that a user may have take', () => {
    assert.equal(Math.max(...waits(4003, 5000)), 50 * 1025);
  });

  it('are free for root and for the broker itself', () => {
    assert.deepEqual(new Set([...waits(0, 2000), ...waits(900, 2000)]), new Set([0]));
  });
});
