// What the flood policy is told and what it needs of the rest of the house.
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { EventSink } from '../model/event.js';
import type { Caller } from '../model/ids.js';
import type { Door } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { OpenLimiter } from './limiter.js';

/** Whose permits, strikes and quarantine: a plugin and the uid that calls for it, never a path or a pid (contract 4). */
export interface FloodKey {
  readonly type: string;
  readonly name: string;
  readonly uid: number;
}

/** Whose registration is to be counted. */
export interface FloodSubject extends FloodKey {
  /** The path of the registering socket; what the plugin sent where that means no path. */
  readonly socket: string;
  readonly caller: Caller | undefined;
  readonly door: Door;
  /** The broker itself comes back to a plugin it knows: nobody called, so nothing is counted. */
  readonly pulled: boolean;
  /** The name or the type is not valid: all such calls of one uid share a bucket. */
  readonly badName: boolean;
  /** What it takes to pull this plugin later: the endpoint as it was spelled, and the versions it offered. */
  readonly endpoint?: string;
  readonly versions?: readonly string[];
}

/**
 * What the flood policy says to a registration. `delay`: its turn comes in `delayMs` and is reserved; wait, and go on,
 * or ask `next` where there is one: turns of a limit that all share may go to a process that has none.
 */
export type FloodVerdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'delay'; readonly delayMs: number; readonly next?: () => FloodVerdict }
  | { readonly kind: 'refuse'; readonly refusal: Refusal };

/** A quarantine that began or ended. */
export interface Quarantine extends FloodKey {
  /** Its length when it begins, what is left of it after a restart of the broker, 0 when it ended. */
  readonly lengthMs: number;
  /** Processes that exceeded a limit, newest last, bounded: a session is closed only if it is one of theirs. */
  readonly offenders: readonly Caller[];
  /** The last registration in the plugin's name: what is to be pulled. Undefined: none since the broker started. */
  readonly last: FloodSubject | undefined;
}

/** What the flood policy needs. Its callbacks are called from inside a decision: they note what to do and return. */
export interface FloodPorts {
  readonly openLimiter: OpenLimiter;
  readonly clock: Clock;
  /** Gets one event for each delayed or observed call: give it a sink that summarises repeats. */
  readonly events: EventSink;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Milliseconds since the machine started: the same scale for each life of the broker in one boot. */
  readonly bootMs: () => number;
  readonly quarantineBegan: (quarantine: Quarantine) => void;
  /** It is over or was lifted: pull the plugin, so that one that never calls again is not lost. */
  readonly quarantineEnded: (quarantine: Quarantine) => void;
  /** Strikes or quarantines changed: worth a checkpoint. At once for quarantines, at most once a second for strikes. */
  readonly penaltiesChanged: () => void;
}
