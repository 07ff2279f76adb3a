// The flood policy as its callers see it: the subject of a call, and the policy's verdict on it.
import type { Caller, PluginId } from './ids.js';
import type { Door, Enrolment } from './plugin.js';
import type { Refusal } from './reasons.js';

/** The owner of permits, strikes and quarantine: a plugin and the uid that calls for it, never a path or a pid. */
export interface FloodKey extends PluginId {
  readonly uid: number;
}

/** The subject of a registration that is to be counted. */
export interface FloodSubject extends FloodKey {
  /** The path of the registering socket; empty where the endpoint that the plugin sent means none. */
  readonly socket: string;
  readonly caller: Caller | undefined;
  readonly door: Door;
  /** The broker itself comes back to a plugin it knows: nobody called, so nothing is counted. */
  readonly pulled: boolean;
  /** The name or the type is not valid: all such calls of one uid share a bucket. */
  readonly badName: boolean;
  /**
   * The parts of the request with which this plugin can be pulled later, where it could be let in: the endpoint as it was
   * spelled, and the versions it offered.
   */
  readonly endpoint?: string;
  readonly versions?: readonly string[];
}

/**
 * The flood policy's verdict on a registration. `delay`: it stands in the line of a limit (`FairTurns.join`, flood/fair-turns),
 * and its turn is expected in `delayMs`; `wait` resolves with the verdict that holds when it has come, or would come too late, and
 * rejects with the signal's reason. FloodGate (flood/flood-gate) asks the next limit then.
 */
export type FloodVerdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'delay'; readonly delayMs: number; readonly wait: (signal: AbortSignal) => Promise<FloodVerdict> }
  | { readonly kind: 'refuse'; readonly refusal: Refusal };

/** The pace at which the lists of one session are taken. UpdatePacer (flood/update-pacer) keeps it. */
export interface ListPacer {
  /** Spends a permit if there is one. */
  tryTake(): boolean;
  /**
   * Waits for the turn of a list that found no permit, and spends one.
   *
   * @returns false when there will be none any more
   * @throws the signal's reason
   */
  nextTurn(signal: AbortSignal): Promise<boolean>;
  /**
   * Waits until there is room for a list in its user's share.
   *
   * @param bytes its length
   * @throws the signal's reason
   */
  room(bytes: number, signal: AbortSignal): Promise<void>;
  /** Counts a list of this many bytes that came with it: the next one waits for both. */
  spend(bytes: number): void;
  /** The consequence of a list beyond the pace. */
  readonly onExceed: 'coalesce' | 'disconnect';
  close(): void;
}

/** The flood policy as admission uses it. FloodGate (flood/flood-gate) implements it. */
export interface RegistrationLimits {
  /** Why the plugin is kept out, if it is. */
  quarantined(subject: FloodSubject): Refusal | undefined;
  /** Counts a registration and says whether it may go on. */
  registration(subject: FloodSubject): FloodVerdict;
}

/** The subject of a pace. */
export type PacedEnrolment = Pick<Enrolment, 'type' | 'name' | 'policy' | 'caller'> & {
  readonly socket: { readonly path: string };
};

/** The flood policy as sessions use it. FloodGate (flood/flood-gate) implements it. */
export interface ListPacing {
  /** The pace of one session's lists; closed with the session. */
  openPacer(enrolment: PacedEnrolment): ListPacer;
}

/** The penalty that a plugin's caller bears. */
export interface PenaltyView {
  readonly strikes: number;
  /** Epoch milliseconds; undefined: it is in no quarantine. */
  readonly quarantinedUntil: number | undefined;
}

/** A quarantine that began or ended. */
export interface Quarantine extends FloodKey {
  /** Its length when it begins, the rest of it after a restart of the broker, 0 when it ended. */
  readonly lengthMs: number;
  /** Processes that exceeded a limit, newest last, bounded: a session is closed only if it is one of theirs. */
  readonly offenders: readonly Caller[];
  /** The last registration in the plugin's name: the one to be pulled. Undefined: none since the broker started. */
  readonly last: FloodSubject | undefined;
}

/**
 * Hears of quarantines and of changes worth a checkpoint. Called from inside a decision: it notes its work and returns.
 * `subscribe` (daemon/subscriptions) has them all.
 */
export interface FloodListener {
  quarantineBegan?(quarantine: Quarantine): void;
  /** It is over or was lifted, or a refusal for the pace that brings none is over: the plugin is to be pulled, so that one that never calls again is not lost. */
  quarantineEnded?(quarantine: Quarantine): void;
  /** Strikes or quarantines changed: worth a checkpoint. At once for quarantines, at most once a second for strikes. */
  penaltiesChanged?(): void;
}
