// The messages between a broker and the program that tests plugins against it (docs/specification.md#verify). The program starts
// the broker as its child; the broker begins with the first message, and no plugin is served before it came.
import type { BrokerEvent } from './event.js';
import type { Door, PluginState } from './plugin.js';
import type { RefusalCode } from './reasons.js';
import type { BrokerView } from './views.js';

/** Something the broker is to do to plugins. All times in milliseconds. */
export type Fault =
  /** No more registrations are disturbed. */
  | { readonly kind: 'none' }
  /** Registrations are refused as a flood would be, with RetryInfo, for `ms` from the first one on. */
  | { readonly kind: 'refuse'; readonly ms: number }
  /** Registrations are held until `ms` after the first one. */
  | { readonly kind: 'hang'; readonly ms: number }
  /** The next registration at the watcher door is refused for good, so that its plugin is told so. */
  | { readonly kind: 'notify-false' }
  /**
   * Every open list stream, or that of one plugin, is cancelled and opened again on a new connection, so many times, after
   * each first list.
   */
  | { readonly kind: 'stream-break'; readonly times: number; readonly listWithinMs: number; readonly socket?: string }
  /** Registrations are refused or held until `lift` names the same number. */
  | RegistrationRule
  | { readonly kind: 'lift'; readonly id: number };

/** The fault for registrations until it is lifted or used up. */
export interface RegistrationRule {
  readonly kind: 'rule';
  readonly id: number;
  /** Name of the only plugin that it meets; empty: it meets all. */
  readonly plugin: string;
  /** Milliseconds that each registration is held; 0: it is refused. */
  readonly holdMs: number;
  readonly reason: RefusalCode;
  /** When to come back, as the refusal says; undefined: it does not say. */
  readonly retryAfterMs?: number;
  /** So many registrations at most, and none after so many milliseconds from the first. */
  readonly times: number;
  readonly forMs: number;
}

/** The program's message. */
export interface FaultOrder {
  readonly faults: readonly Fault[];
}

/** The fate of a registration that a plugin asked for: the policy let it pass, or a fault was applied. */
export type CallFate = 'passed' | 'refused' | 'held' | 'denied';

/** One plugin as it is now: its primary incarnation, and its resource. */
export interface PluginPicture {
  readonly type: string;
  readonly name: string;
  readonly door: Door;
  readonly state: PluginState;
  readonly reason: string;
  /** Key of the socket that registered. */
  readonly incarnation: string;
  readonly socket: string;
  /** -1 where it is not known. */
  readonly pid: number;
  /** Of its resource, whichever incarnation's list counts. */
  readonly capacity: number;
  readonly allocatable: number;
  /** The list that counts is its own. */
  readonly isListed: boolean;
  /** Its registration is on disk: it was acknowledged, or will be at once. */
  readonly isDurable: boolean;
}

/** An event as `events -o json` has it, without a number where the broker only counts it among equal ones. */
export type ToldEvent = Omit<BrokerEvent, 'seq' | 'facts'> & Partial<Pick<BrokerEvent, 'seq'>>;

/** The broker's messages, as things happen. `at` is epoch milliseconds. */
export type BrokerNews =
  | { readonly kind: 'phase'; readonly at: number; readonly phase: BrokerView['phase'] }
  | { readonly kind: 'event'; readonly at: number; readonly event: ToldEvent }
  /** A plugin asked to be registered, or its registration socket was asked. */
  | {
      readonly kind: 'call';
      readonly at: number;
      readonly door: Door;
      readonly type: string;
      readonly name: string;
      readonly fate: CallFate;
      /** Milliseconds for which a fault holds it; 0: it is decided at once. */
      readonly heldMs: number;
    }
  /** All plugins, each time something changed. */
  | { readonly kind: 'picture'; readonly at: number; readonly plugins: readonly PluginPicture[] }
  /** HTTP is served at this `host:port` from now on; undefined: it is off, or its address cannot be used for now. */
  | { readonly kind: 'http'; readonly at: number; readonly address: string | undefined }
  /** A list stream of one plugin is open from now on, or is not any more. */
  | { readonly kind: 'stream'; readonly at: number; readonly socket: string; readonly is: 'up' | 'down' }
  /** The breaking of one plugin's stream is over: all the times, or until it failed. */
  | {
      readonly kind: 'streams-broken';
      readonly at: number;
      readonly socket: string;
      readonly times: number;
      /** The longest wait for a list on a new stream. */
      readonly slowestMs: number;
      readonly failure: string | undefined;
    };
