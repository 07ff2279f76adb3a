import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CallPaces } from '../../../src/flood/call-paces.js';
import { processOf } from '../../support/flood-world.js';

describe('the paces of calls', () => {
  it('are for nobody while the policy only observes', () => {
    for (const isEnforced of [true, false]) {
      const paces = new CallPaces({
        now: () => 0,
        ownUid: 0,
        userOf: (uid) => uid,
        isEnforced: () => isEnforced,
      });
      const stranger = processOf(1, 4001);
      const all = [
        paces.usual(stranger),
        paces.afterRefusals(stranger),
        paces.firstAfterRefusals(stranger),
        paces.frames(stranger),
      ];
      assert.deepEqual(
        all.map((turns) => turns !== undefined),
        [isEnforced, isEnforced, isEnforced, isEnforced],
      );
    }
  });

  describe('of frames that no call earned', () => {
    const bed = (): { paces: CallPaces; pass: (ms: number) => void } => {
      let now = 0;
      const paces = new CallPaces({ now: () => now, ownUid: 0, userOf: (uid) => uid, isEnforced: () => true });
      return { paces, pass: (ms) => (now += ms) };
    };

    it('are shared by the connections of a process, and by the processes of an ordinary user', () => {
      const { paces } = bed();
      assert.equal(paces.frames(processOf(1, 4001))?.(4_000), 0);
      assert.equal(paces.frames(processOf(1, 4001))?.(100), 100);
      assert.equal(paces.frames(processOf(2, 4001))?.(3_900), 0);
      assert.equal(paces.frames(processOf(3, 4001))?.(100), 50);
      assert.equal(paces.frames(processOf(4, 4002))?.(100), 0);
      assert.equal(paces.frames(processOf(5, 0)), undefined);
    });

    it('are earned back with time, and hold a connection for 5 s at most', () => {
      const { paces, pass } = bed();
      const frames = paces.frames(processOf(1, 4001));
      assert.ok(frames !== undefined);
      assert.equal(frames(100_000), 5_000);
      pass(5_000);
      assert.equal(frames(1), 1);
    });

    it('hold nobody whose thousand connections are kept alive every ten seconds', () => {
      const { paces, pass } = bed();
      const frames = paces.frames(processOf(1, 4001));
      for (let round = 0; round < 10; round++) {
        for (let connection = 0; connection < 1_000; connection++) assert.equal(frames?.(1), 0);
        pass(10_000);
      }
    });
  });
});
