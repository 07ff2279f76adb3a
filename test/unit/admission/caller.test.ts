import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkCaller, checkOwner } from '../../../src/admission/caller.js';
import { UNKNOWN_USER } from '../../../src/model/ids.js';
import { isTransient } from '../../../src/model/reasons.js';

/** caller's uid (undefined: nobody called), listener's uid, admission.allowUids, the rule's uids, and the verdict. */
const ROWS: [
  title: string,
  uid: number | undefined,
  listener: number,
  allow: number[] | undefined,
  rule: number[] | undefined,
  verdict: string | undefined,
][] = [
  ['the listener itself', 1000, 1000, undefined, undefined, undefined],
  ['root for itself', 0, 0, undefined, undefined, undefined],
  ['somebody for a listener that is root', 1000, 0, undefined, undefined, 'CALLER_NOT_LISTENER'],
  ["the broker's user for a listener that is root", 990, 0, undefined, undefined, undefined],
  ["the broker's user for another user", 990, 1000, undefined, undefined, 'CALLER_NOT_LISTENER'],
  ['somebody whom the rule names with root', 1000, 0, undefined, [0, 1000], undefined],
  ['somebody whom the rule names without root', 1000, 0, undefined, [1000], 'CALLER_NOT_LISTENER'],
  ['root for a listener that is not', 0, 1000, undefined, undefined, 'CALLER_NOT_LISTENER'],
  ['one user for another', 1000, 1001, undefined, undefined, 'CALLER_NOT_LISTENER'],
  ['one user for another whom the rule names, too', 1000, 1001, undefined, [1000, 1001], undefined],
  ['a caller whom the rule does not name', 1000, 1000, undefined, [1001], 'CALLER_NOT_ALLOWED'],
  ['a listener whom the rule does not name', 1000, 1001, undefined, [1000], 'CALLER_NOT_LISTENER'],
  ['a caller whom allowUids does not name', 1000, 1000, [0], undefined, 'CALLER_NOT_ALLOWED'],
  ['a listener whom allowUids does not name', 1000, 0, [1000], undefined, 'CALLER_NOT_ALLOWED'],
  ['both named by allowUids', 1000, 0, [0, 1000], undefined, 'CALLER_NOT_LISTENER'],
  ['both named by allowUids, the caller not by the rule', 1000, 0, [0, 1000], [5], 'CALLER_NOT_ALLOWED'],
  ['nobody allowed at all', 0, 0, [], undefined, 'CALLER_NOT_ALLOWED'],
  ['no caller: the listener stands for it', undefined, 1000, undefined, undefined, undefined],
  ['no caller, a listener whom allowUids does not name', undefined, 1000, [0], undefined, 'CALLER_NOT_ALLOWED'],
];

describe('whether a process may register a plugin', () => {
  for (const [title, uid, listenerUid, allowUids, ruleUids, verdict] of ROWS) {
    it(`${title}: ${verdict ?? 'let in'}`, () => {
      const facts = {
        name: 'example.com/x',
        callerUid: uid,
        listenerUid,
        allowUids,
        ruleUids,
        ownUid: 990,
      };
      const refusal = checkCaller(facts);
      assert.equal(refusal?.code, verdict);
      if (refusal !== undefined) assert.match(refusal.message, /^example\.com\/x: .*uid \d+/);
    });
  }
});

describe('users of whom the user namespace of the broker knows none', () => {
  it('are let in by nothing, because each would have the names of all others', () => {
    const common = { name: 'example.com/x', allowUids: [UNKNOWN_USER, 0], ruleUids: [UNKNOWN_USER, 0], ownUid: 0 };
    for (const [callerUid, listenerUid] of [
      [UNKNOWN_USER, UNKNOWN_USER],
      [undefined, UNKNOWN_USER],
      [0, UNKNOWN_USER],
      [UNKNOWN_USER, 0],
    ] as const) {
      const refusal = checkCaller({ ...common, callerUid, listenerUid });
      assert.equal(refusal?.code, 'CALLER_NOT_ALLOWED');
      assert.match(refusal.message, /^example\.com\/x: .*user namespace/);
    }
  });
});

/** Title, newcomer, uids of the rule, owner's uid and whether it is held, verdict: passing is a matter of time. */
const NAMES: readonly [string, number, readonly number[] | undefined, [number, boolean] | undefined, string][] = [
  ['a name that nobody has', 1000, undefined, undefined, 'let in'],
  ['its owner', 1000, undefined, [1000, false], 'let in'],
  ['its owner, while it is held', 1000, undefined, [1000, true], 'let in'],
  ['root', 0, undefined, [1000, false], 'let in'],
  ['a user that a rule names', 1001, [1001], [1000, false], 'let in'],
  ['another user', 1001, undefined, [1000, false], 'refused'],
  ['another user, where root has it', 1001, undefined, [0, false], 'refused'],
  ['a user that no rule names', 1001, [1002], [1000, false], 'refused'],
  ['another user, while it is held', 1001, undefined, [1000, true], 'waits'],
];

describe('the owner of a name', () => {
  for (const [title, newcomer, ruleUids, owner, verdict] of NAMES) {
    it(`${title}: ${verdict}`, () => {
      const refusal = checkOwner({
        name: 'example.com/x',
        newcomer,
        ruleUids,
        owner: owner && { uid: owner[0], isHeld: owner[1], endpointPath: '/p.sock' },
      });
      assert.equal(refusal?.code, verdict === 'let in' ? undefined : 'NAME_OWNED');
      if (refusal !== undefined) assert.equal(isTransient(refusal), verdict === 'waits');
    });
  }
});
