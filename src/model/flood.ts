// The flood policy as those see it who ask it: whose call it is, and what the policy says to it.
import type { Caller, PluginId } from './ids.js';
import type { Door, Enrolment } from './plugin.js';
import type { Refusal } from './reasons.js';

/** Whose permits, strikes and quarantine: a plugin and the uid that calls for it, never a path or a pid. */
export interface FloodKey extends PluginId {
  readonly uid: number;
}

/** Whose registration is to be counted. */
export interface FloodSubject extends FloodKey {
  /** The path of the registering socket; empty where what the plugin sent means none. */
  readonly socket: string;
  readonly caller: Caller | undefined;
  readonly door: Door;
  /** The broker itself comes back to a plugin it knows: nobody called, so nothing is counted. */
  readonly pulled: boolean;
  /** The name or the type is not valid: all such calls of one uid share a bucket. */
  readonly badName: boolean;
  /** What it takes to pull this plugin later, where it could be let in: the endpoint as it was spelled, and the versions it offered. */
  readonly endpoint?: string;
  readonly versions?: readonly string[];
}

/**
 * What the flood policy says to a registration. `delay`: it stands in line, and its turn is expected in `delayMs`; `wait`
 * resolves with what holds when it has come, or would come too late, and rejects with the signal's reason.
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
   * Waits until there is room for a list in what its user may cost.
   *
   * @param bytes its length
   * @throws the signal's reason
   */
  room(bytes: number, signal: AbortSignal): Promise<void>;
  /** Counts a list of this many bytes that came with it: the next one waits for both. */
  spend(bytes: number): void;
  /** What a list beyond the pace means. */
  readonly onExceed: 'coalesce' | 'disconnect';
  close(): void;
}

/** What admission asks. FloodGate (flood/flood-gate) answers. */
export interface RegistrationLimits {
  /** Why the plugin is kept out, if it is. */
  quarantined(subject: FloodSubject): Refusal | undefined;
  /** Counts a registration and says whether it may go on. */
  registration(subject: FloodSubject): FloodVerdict;
}

/** Whose lists are paced. */
export type PacedEnrolment = Pick<Enrolment, 'type' | 'name' | 'policy' | 'caller'> & {
  readonly socket: { readonly path: string };
};

/** What sessions ask. FloodGate (flood/flood-gate) answers. */
export interface ListPacing {
  /** The pace of one session's lists; closed with the session. */
  openPacer(enrolment: PacedEnrolment): ListPacer;
}

/** A quarantine that began or ended. */
export interface Quarantine extends FloodKey {
  /** Its length when it begins, what is left of it after a restart of the broker, 0 when it ended. */
  readonly lengthMs: number;
  /** Processes that exceeded a limit, newest last, bounded: a session is closed only if it is one of theirs. */
  readonly offenders: readonly Caller[];
  /** The last registration in the plugin's name: what is to be pulled. Undefined: none since the broker started. */
  readonly last: FloodSubject | undefined;
}

/**
 * Hears of quarantines and of what is worth a checkpoint. Called from inside a decision: it notes what to do and returns.
 * `subscribe` (daemon/subscriptions) says who does.
 */
export interface FloodListener {
  quarantineBegan?(quarantine: Quarantine): void;
  /** It is over or was lifted: the plugin is to be pulled, so that one that never calls again is not lost. */
  quarantineEnded?(quarantine: Quarantine): void;
  /** Strikes or quarantines changed: worth a checkpoint. At once for quarantines, at most once a second for strikes. */
  penaltiesChanged?(): void;
}
