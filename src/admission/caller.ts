// May this process register this plugin? (contract 2, Caller) Pure.
import type { Caller } from '../model/ids.js';
import type { Refusal } from '../model/reasons.js';

/** What the decision rests on. */
export interface CallerFacts {
  readonly name: string;
  readonly caller: Caller | undefined;
  /** Uid of the process that listens on the dialled socket. */
  readonly listenerUid: number;
  /** admission.allowUids. */
  readonly allowUids: readonly number[] | undefined;
  /** rules[].uids of the plugin. */
  readonly ruleUids: readonly number[] | undefined;
}

/**
 * The uid that listens on the endpoint must be the caller's, or root, or one that a rule allows; admission.allowUids
 * and a rule's uids, where given, must name everyone involved.
 */
export function checkCaller({ name, caller, listenerUid, allowUids, ruleUids }: CallerFacts): Refusal | undefined {
  const uid = caller?.uid ?? listenerUid;
  const notAllowed = (who: number, list: string, allowed: readonly number[]): Refusal => ({
    code: 'CALLER_NOT_ALLOWED',
    message: `${name}: uid ${String(who)} may not register it; ${list} allows ${allowed.join(', ')}`,
  });
  for (const involved of new Set([uid, listenerUid])) {
    if (allowUids?.includes(involved) === false) return notAllowed(involved, 'admission.allowUids', allowUids);
  }
  if (ruleUids?.includes(uid) === false) return notAllowed(uid, 'its rule', ruleUids);
  if (listenerUid === uid || listenerUid === 0 || ruleUids?.includes(listenerUid) === true) return undefined;
  return {
    code: 'CALLER_NOT_LISTENER',
    message: `${name}: the caller has uid ${String(uid)}, but uid ${String(listenerUid)} listens on the endpoint`,
  };
}
