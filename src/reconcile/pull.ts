// When the broker comes back to a plugin by itself, and when it is pointless. Pure.
import { pluginKey, type PluginId } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import type { Attempt } from '../model/registration.js';
import type { RegistrationRequest } from '../model/plugin.js';
import type { Refusal, RefusalCode } from '../model/reasons.js';

/** Reasons of `held` after which the incarnation may still live, so that its stream is opened again. */
const REOPENED = new Set(['connection-lost', 'reopening', 'stream-failed', 'update-flood']);

/** Refusals after which this incarnation will never answer again. */
const FINAL = new Set<RefusalCode>([
  'ENDPOINT_MISSING',
  'ENDPOINT_NOT_SOCKET',
  'ENDPOINT_OUTSIDE',
  'ENDPOINT_TOO_DEEP',
  'SOCKET_SWAPPED',
  'NO_LISTENER',
  'DEREGISTERED',
  'ENDPOINT_CLAIMED',
  'NAME_DENIED',
  'CALLER_NOT_ALLOWED',
]);

/** Refusals that say no more than that an incarnation is no longer there. */
const VANISHED = new Set<RefusalCode>(['ENDPOINT_MISSING', 'SOCKET_SWAPPED', 'NO_LISTENER']);

/** Whether a lost instance is to be pulled. */
export function isWorthPulling(instance: Instance): boolean {
  // At the watcher door an instance is pulled by the socket it holds; without one, discovery brings it back.
  if (instance.door === 'watcher' && instance.enrolment === undefined) return false;
  if (instance.state === 'restored' || instance.state === 'quarantined') return true;
  // One that hangs is found again by its session; one of the checkpoint that never answered has none.
  const isUnheard = !instance.isConfirmed && instance.reason === 'not-answering';
  return mayReturn(instance) || (instance.state === 'held' && (REOPENED.has(instance.reason) || isUnheard));
}

/** Whether a dropped instance is looked at again while its socket is there: a frozen process may be thawed any time. */
export function mayReturn(instance: Instance): boolean {
  return instance.door === 'register' && instance.state === 'gone' && instance.reason === 'grace-over';
}

/** Whether a refusal of a pull ends it: nobody can answer there any more. */
export function isFinal(refusal: Refusal): boolean {
  return FINAL.has(refusal.code);
}

/** Whether a refusal says no more than that the incarnation is no longer there. */
export function isVanished(refusal: Refusal): boolean {
  return VANISHED.has(refusal.code);
}

/** The result of a refused attempt to bring a plugin back: no further attempt, or another when the refusal allows it. */
export function afterRefusal(plugin: PluginId, refusal: Refusal): Attempt {
  if (isFinal(refusal)) return { done: true };
  const again = { done: false, atLeastMs: refusal.retryAfterMs ?? 0 } as const;
  return refusal.code === 'QUARANTINED' ? { ...again, keptOut: pluginKey(plugin) } : again;
}

/**
 * Whether a refusal is none of a plugin: we came back to an incarnation that has gone, as those do that restart
 * themselves when kubelet.sock is re-created.
 */
export function hasVanished(request: RegistrationRequest, refusal: Refusal): boolean {
  return request.pulled && isVanished(refusal);
}

/**
 * The request with which an instance is pulled: its own data of its registration, for exactly that incarnation.
 *
 * @param expected the incarnation to be pulled, when it is a successor at the same path
 */
export function pullRequest(instance: Instance, expected = instance.socketKey): RegistrationRequest {
  const socket = instance.door === 'watcher' ? instance.enrolment?.socket : undefined;
  return {
    door: instance.door,
    pulled: true,
    type: instance.type,
    name: instance.name,
    versions: instance.versions,
    endpoint: instance.endpointPath,
    expected,
    ...(socket === undefined ? {} : { socket }),
    // The caller of one incarnation has not called for its successor: there, the listener is asked.
    ...(instance.caller === undefined || expected !== instance.socketKey ? {} : { caller: instance.caller }),
  };
}
