import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Duplicates } from '../../../src/admission/duplicates.js';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import { FakeHandler } from '../../support/reconcile-world.js';

const BROKER = 4711;
const STRANGER = 4001;

describe('the keeper of a name by duplicates: reject and keep-alive', () => {
  for (const [who, newcomer, holder, uids, isKept] of [
    ['a stranger from root', 0, STRANGER, undefined, false],
    ['a stranger from a uid of the rule', 990, STRANGER, [990], false],
    ['a stranger from itself', STRANGER, STRANGER, undefined, true],
    ['a uid of the rule from root', 0, 990, [0, 990], true],
    ['a uid of the rule from another one', 991, 990, [990, 991], true],
    ['root from a uid of the rule', 990, 0, [0, 990], true],
    ["the broker's user from root", 0, BROKER, undefined, true],
    ['a plugin of unknown uid from root', 0, undefined, undefined, true],
  ] as const) {
    it(`${who}: ${isKept ? 'yes' : 'no'}`, async () => {
      const incumbent = { id: 'i', socketKey: 'old', endpointPath: '/r/old', uid: holder };
      const found = new Duplicates({ incumbent: () => incumbent }, BROKER);
      const handler = new FakeHandler();
      handler.isAlive = () => Promise.resolve(true);
      const told = [];
      for (const duplicates of ['reject', 'keep-alive'] as const) {
        const plugin = { duplicates, uids };
        const one = { type: DEVICE_PLUGIN, name: 'a.b/x', uid: newcomer, socketKey: 'new', plugin, handler };
        told.push((await found.check(one, new AbortController().signal))?.code);
        assert.equal(found.checkRejected(one)?.code, duplicates === 'reject' ? told[0] : undefined);
      }
      assert.deepEqual(told, isKept ? ['DUPLICATE_REJECTED', 'DUPLICATE_KEPT'] : [undefined, undefined]);
    });
  }
});
