// A device list as it is held, and the outcome of one that a plugin sent.
import type { PluginState } from './plugin.js';
import type { RefusalCode } from './reasons.js';

/** The last list of one instance. Kept as bytes: decoded devices would take many times the memory. */
export interface Holding {
  readonly instanceId: string;
  readonly resource: string;
  readonly raw: Buffer;
  readonly sha256: string;
  readonly devices: number;
  readonly healthy: number;
}

/** The members of an instance that decide whether it speaks for its resource. */
export interface Speaker {
  readonly id: string;
  readonly seq: number;
  readonly state: PluginState;
  /** `restored` entries of another boot are only hints. */
  readonly isHint: boolean;
}

/** One resource: the instance whose list counts, and how much of it can be used. */
export interface Resource {
  readonly name: string;
  readonly owner: Speaker;
  readonly holding: Holding;
  readonly capacity: number;
  readonly allocatable: number;
}

/** Why a list is not accepted: a cap, or bytes that are no list. */
export type ListRefusal = Extract<RefusalCode, 'LIST_TOO_LARGE' | 'CAP_LIST_BYTES' | 'REQUEST_INVALID'>;

/** The outcome of a list. */
export type ListVerdict =
  | { readonly kind: 'applied'; readonly devices: number }
  | { readonly kind: 'equal'; readonly devices: number }
  | { readonly kind: 'refused'; readonly sentence: string };

/** Hears of every list, after it was applied or refused. `subscribe` (daemon/subscriptions) has them all. */
export interface ListListener {
  /**
   * @param before the list it replaced
   * @param duplicates up to ten ids that it has more than once
   */
  listApplied?(holding: Holding, before: Holding | undefined, duplicates: readonly string[]): void;
  /** The list was refused; the last good one stays. */
  listRefused?(instanceId: string, code: ListRefusal, sentence: string): void;
}
