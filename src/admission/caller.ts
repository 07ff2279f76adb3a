// May this process register this plugin? Pure.
import { isTrusted, UNKNOWN_USER } from '../model/ids.js';
import type { Refusal } from '../model/reasons.js';
import type { NameOwner } from '../model/registration.js';

/** The facts that the decision rests on. */
export interface CallerFacts {
  readonly name: string;
  /** Undefined: nobody called, the listener stands for it. */
  readonly callerUid: number | undefined;
  /** Uid of the process that listens on the dialled socket. */
  readonly listenerUid: number;
  /** admission.allowUids. */
  readonly allowUids: readonly number[] | undefined;
  /** rules[].uids of the plugin. */
  readonly ruleUids: readonly number[] | undefined;
  /** The broker's own user. */
  readonly ownUid: number;
}

/**
 * The uid that listens on the endpoint must be the caller's, or one that a rule names; root's endpoint may also be named by the
 * broker's own user. Nobody else may: any process that sees the fresh socket of a root plugin could claim it under a name of its
 * own before the plugin registers. admission.allowUids and a rule's uids, where given, must name both uids. Users that the broker
 * cannot tell apart are let in by nothing: each would have the names of all others.
 */
export function checkCaller({
  name,
  callerUid,
  listenerUid,
  allowUids,
  ruleUids,
  ownUid,
}: CallerFacts): Refusal | undefined {
  const uid = callerUid ?? listenerUid;
  const notAllowed = (who: number, list: string, allowed: readonly number[]): Refusal => ({
    code: 'CALLER_NOT_ALLOWED',
    message: `${name}: uid ${String(who)} may not register it; ${list} allows ${allowed.join(', ')}`,
  });
  if (uid === UNKNOWN_USER || listenerUid === UNKNOWN_USER) {
    const message = `${name}: its user is none of those that the user namespace of the broker knows, which cannot be told apart; run the broker in the user namespace of its plugins`;
    return { code: 'CALLER_NOT_ALLOWED', message };
  }
  for (const involved of new Set([uid, listenerUid])) {
    if (allowUids?.includes(involved) === false) return notAllowed(involved, 'admission.allowUids', allowUids);
  }
  if (ruleUids?.includes(uid) === false) return notAllowed(uid, 'its rule', ruleUids);
  if (listenerUid === uid || ruleUids?.includes(listenerUid) === true) return undefined;
  if (listenerUid === 0 && isTrusted(uid, ownUid)) return undefined;
  return {
    code: 'CALLER_NOT_LISTENER',
    message: `${name}: the caller has uid ${String(uid)}, but uid ${String(listenerUid)} listens on the endpoint`,
  };
}

/** A name whose owner does not serve may be free soon, at an unknown time. */
const ASK_AGAIN_MS = 5000;

/** The facts that the decision about a name rests on. */
export interface NameFacts {
  readonly name: string;
  /** Uid of the caller; at the watcher door the uid that listens on the registration socket. */
  readonly newcomer: number;
  /** rules[].uids of the plugin. */
  readonly ruleUids: readonly number[] | undefined;
  readonly owner: NameOwner | undefined;
}

/** A name belongs to the uid that has it: nobody else gets it but root and the uids that a rule names. */
export function checkOwner({ name, newcomer, ruleUids, owner }: NameFacts): Refusal | undefined {
  if (owner === undefined || newcomer === owner.uid || newcomer === 0 || ruleUids?.includes(newcomer) === true) {
    return undefined;
  }
  const message = `${name}: the name belongs to uid ${String(owner.uid)}, which has it at ${owner.endpointPath}; uid ${String(newcomer)} may not take it`;
  if (!owner.isHeld) return { code: 'NAME_OWNED', message };
  const soon = `${message} while it is inside its grace or may come back otherwise`;
  return { code: 'NAME_OWNED', message: soon, isPassing: true, retryAfterMs: ASK_AGAIN_MS };
}
