// When the broker pulls a plugin, when a pull is pointless, and the consequences of its outcome. Pure.
import { pluginKey, type PluginId } from '../model/ids.js';
import { isReplaced, wasIn, type Instance } from '../model/instance.js';
import type { Attempt } from '../model/registration.js';
import type { InstanceReport, Outcome, RegistrationRequest, WayBack } from '../model/plugin.js';
import { isTransient, type Refusal, type RefusalCode } from '../model/reasons.js';
import type { Action } from './actions.js';

/** After a session was closed for flooding, this many update intervals pass before it is opened again. */
const FLOOD_PAUSE_INTERVALS = 10;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;
/** Of one ordinary user an instance that was given up is asked so often. */
const GIVEN_UP_EVERY_MS = 2000;

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
  'CALLER_NOT_LISTENER',
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

/**
 * The way back of an instance that is about to be asked: of a fallback, and of one that was dropped after it had been in.
 *
 * @param known as it is now
 */
export function wayBackOf(known: Instance | undefined, { pulled }: RegistrationRequest): WayBack | undefined {
  if (known === undefined || !pulled || !(isReplaced(known) || (mayReturn(known) && wasIn(known)))) return undefined;
  return { state: known.state, reason: known.reason };
}

/**
 * The state to which a refused instance goes back; undefined: it is rejected. A process that was dropped because it was frozen may
 * be frozen still, and is asked again by the next look at it.
 */
export function wayBackAfter(wayBack: WayBack | undefined, refusal: Refusal): WayBack | undefined {
  const mayNotComeIn = isFinal(refusal) && !isVanished(refusal);
  return wayBack?.state === 'gone' && mayNotComeIn ? undefined : wayBack;
}

/** Whether a refusal of a pull ends it: nobody can answer there any more. */
export function isFinal(refusal: Refusal): boolean {
  return FINAL.has(refusal.code);
}

/** Whether a refusal says no more than that the incarnation is no longer there. */
export function isVanished(refusal: Refusal): boolean {
  return VANISHED.has(refusal.code);
}

/** The first loss of a proven session is taken up at once; one that keeps ending waits longer and longer. */
export function waitMs({ reason }: Instance, failures: number, updateIntervalMs: number): number {
  const pause = reason === 'update-flood' ? FLOOD_PAUSE_INTERVALS * updateIntervalMs : 0;
  const growing = failures === 0 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 8));
  return Math.max(pause, growing);
}

/** The outcome of a pull: whether another attempt is made, and the actions. */
export interface Pulled {
  readonly attempt: Attempt;
  readonly actions: readonly Action[];
}

/** The facts beside the instance when its pull is over. */
export interface PullFacts {
  /** Its record is still in the roster. */
  readonly isKnown: boolean;
  /** Losses and refusals in a row. */
  readonly failures: number;
  /** `flood.updates.interval` of its policy. */
  readonly updateIntervalMs: number;
  /** Instances of the ordinary user behind it that were given up and may return; 0 where nobody else's time is to be spared. */
  readonly givenUp: number;
}

/** Whether a pull asks the plugin: the instance was lost and may come back, or is a fallback. */
export function isAsked(instance: Instance | undefined): instance is Instance {
  return instance !== undefined && (isWorthPulling(instance) || isReplaced(instance));
}

/** The outcome of a pull that does not ask the plugin. */
export function withoutAsking(instance: Instance | undefined): Pulled {
  // Its quarantine is over and there is no socket to ask: only discovery may find one. Its grace runs.
  const message = 'its quarantine is over, and its registration socket is not there';
  const actions = instance?.state === 'quarantined' ? [{ do: 'report', report: lostReport(message) } as const] : [];
  return { attempt: { done: true }, actions };
}

/** The outcome of a pull that asked the plugin. @param instance as it is now */
export function afterPull(instance: Instance, outcome: Outcome, facts: PullFacts): Pulled {
  if (outcome.ok) {
    // Lost again before the registration was on disk: the pending registration goes on, else the plugin is never pulled again.
    const isLost = facts.isKnown && isWorthPulling(instance);
    const atLeastMs = waitMs(instance, facts.failures, facts.updateIntervalMs);
    return { attempt: isLost ? { done: false, atLeastMs } : { done: true }, actions: [] };
  }
  const { refusal } = outcome;
  const attempt = paced(instance, afterRefusal(instance, refusal), facts.givenUp);
  if (isFinal(refusal)) return { attempt, actions: [afterFinal(instance, refusal)] };
  // Nothing is noted of a record that was dropped while its plugin was being asked: nobody would forget it again.
  const failed: Action[] = facts.isKnown ? [{ do: 'note-failed', failures: facts.failures + 1 }] : [];
  // Its quarantine is over and it does not come in: from now on its grace runs, as of any other that is lost.
  const isHeld = instance.state === 'quarantined' && !isTransient(refusal);
  return { attempt, actions: isHeld ? [...failed, { do: 'report', report: lostReport(refusal.message) }] : failed };
}

/** A user can have as many frozen plugins as it likes, for as long as it likes: all of them together are asked at one pace. */
function paced(instance: Instance, attempt: Attempt, givenUp: number): Attempt {
  if (attempt.done || !mayReturn(instance)) return attempt;
  return { ...attempt, atLeastMs: Math.max(attempt.atLeastMs ?? 0, givenUp * GIVEN_UP_EVERY_MS) };
}

/** A plugin that may not register again cannot be restarting itself, so it is not settling; one that has gone may be. */
function afterFinal(instance: Instance, refusal: Refusal): Action {
  const { message } = refusal;
  if (isReplaced(instance)) return { do: 'close-replaced', message };
  return { do: isVanished(refusal) ? 'report-loss' : 'report', report: lostReport(message) };
}

/** The report about an instance that is lost: its grace runs, and it is pulled while it listens. */
export function lostReport(message: string): InstanceReport {
  return { state: 'held', reason: 'connection-lost', message };
}

/** Whether another attempt follows a refused one: none after a final refusal, else one as soon as the refusal allows it. */
export function afterRefusal(plugin: PluginId, refusal: Refusal): Attempt {
  if (isFinal(refusal)) return { done: true };
  const again = { done: false, atLeastMs: refusal.retryAfterMs ?? 0 } as const;
  return refusal.code === 'QUARANTINED' ? { ...again, keptOut: pluginKey(plugin) } : again;
}

/**
 * Whether a refusal is none of a plugin, and nobody is told of it: we came back to an incarnation that has gone, as those do that
 * restart themselves when kubelet.sock is re-created, or that hangs as it did when it was given up.
 */
export function isNoNews({ pulled }: RegistrationRequest, refusal: Refusal, wayBack: WayBack | undefined): boolean {
  return (pulled && isVanished(refusal)) || (wayBack?.state === 'gone' && refusal.code === 'NO_ANSWER');
}

function calledFor(
  { caller, socketKey }: Instance,
  expected: string,
): Pick<RegistrationRequest, 'caller' | 'presumedUid'> {
  if (caller === undefined) return {};
  return expected === socketKey ? { caller } : { presumedUid: caller.uid };
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
    // The caller of one incarnation has not called for its successor: there, the listener is asked, and has to be of its user.
    ...calledFor(instance, expected),
  };
}
