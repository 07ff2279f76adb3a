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
      const all = [paces.usual(stranger), paces.afterRefusals(stranger), paces.firstAfterRefusals(stranger)];
      assert.deepEqual(
        all.map((turns) => turns !== undefined),
        [isEnforced, isEnforced, isEnforced],
      );
    }
  });
});
