// One incarnation of a plugin as the broker knows it.
import { isTrusted, strangerUser, type Caller, type UserFacts } from './ids.js';
import type { Door, Enrolment, InstanceReport, PluginState } from './plugin.js';
import type { Reason } from './reasons.js';

/** Counted per incarnation, for views. */
export interface Counters {
  registrations: number;
  rejected: number;
  updates: number;
  coalesced: number;
  disconnects: number;
}

/**
 * The record of one incarnation. Its state, reason and message are changed by Roster (reconcile/roster) alone, which tells its
 * listeners; other stages note in it the facts that they learn, such as `isServing` and `isDurable`.
 */
export interface Instance {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly door: Door;
  /** Where the registering socket and the endpoint are, links followed; and the endpoint as the plugin spelled it. */
  socketPath: string;
  endpointPath: string;
  endpointAsSent: string;
  /** Keys of the incarnations of both sockets. At the watcher door the endpoint may be another one the next time. */
  readonly socketKey: string;
  endpointKey: string;
  versions: readonly string[];
  /** Grows with each registration: the newest wins. */
  seq: number;
  state: PluginState;
  reason: Reason;
  message: string;
  /** Epoch milliseconds. */
  stateSince: number;
  registeredAt: number;
  firstRegisteredAt: number;
  version: string;
  /** The last caller of Register, or the listener on the registration socket. */
  caller: Caller | undefined;
  /** The process its session is with; undefined before it was reached in this life of the broker. */
  listener: Caller | undefined;
  facts: Readonly<Record<string, unknown>>;
  /** It delivered (a list; a node id): predecessors may be let go. */
  isServing: boolean;
  /** It had a list stream before, or comes from the checkpoint: its reattach rule applies. */
  wasWatched: boolean;
  /** From the checkpoint of another boot and not confirmed since. */
  isHint: boolean;
  /** Its handler accepted it in this life of the broker. */
  isConfirmed: boolean;
  /**
   * It was found at the path of a plugin that registered before; nobody has called from it under this name. A device
   * plugin's socket cannot say its name (docs/specification.md#checkpoint), so a call of its own counts more.
   */
  isPresumed: boolean;
  /**
   * It went away, or was about to, because an earlier life of the broker gave it a reason to register afresh: on disk, so
   * that it is given its time after the next restart, too. Until it is heard of.
   */
  isAway: boolean;
  /** On disk. */
  isDurable: boolean;
  /** Present while the broker holds its sockets. */
  enrolment: Enrolment | undefined;
  readonly counters: Counters;
}

/** One string for an instance: its plugin, and the life of the socket that registered it. */
export function instanceId(type: string, name: string, socketKey: string): string {
  return `${type}/${name}@${socketKey}`;
}

/** States of an instance that counts: it serves or may come back. */
export function isLive(instance: Instance): boolean {
  return instance.state !== 'gone' && instance.state !== 'rejected' && !isReplaced(instance);
}

/** Whether it was let in once, in this life of the broker or before. */
export function wasIn({ firstRegisteredAt }: Instance): boolean {
  return firstRegisteredAt > 0;
}

/** A predecessor that is kept as fallback while its socket listens. */
export function isReplaced(instance: Instance): boolean {
  return instance.state === 'held' && instance.reason === 'replaced';
}

/** The uid behind an instance, where that is neither root nor the broker's user: such users have shares of the room. */
export function strangerOf(instance: Instance | undefined, ownUid: number): number | undefined {
  const uid = uidBehind(instance);
  return uid === undefined || isTrusted(uid, ownUid) ? undefined : uid;
}

/** The ordinary user behind an instance, which has all uids of its ranges. Undefined as in `strangerOf`. */
export function strangerUserOf(instance: Instance | undefined, users: UserFacts): number | undefined {
  const uid = uidBehind(instance);
  return uid === undefined ? undefined : strangerUser(uid, users);
}

/** The uid whose name an instance has: its caller's, else the one that listens on its registration socket. */
export function ownerUid({ caller, listener }: Instance): number | undefined {
  return caller?.uid ?? listener?.uid;
}

/** The uid whose process serves an instance, or has called for it: in whose share it counts. */
export function uidBehind(instance: Instance | undefined): number | undefined {
  return instance?.listener?.uid ?? instance?.caller?.uid;
}

/** Whether root or the broker's user serves one of them that counts. */
export function isOfTrusted(instances: Iterable<Instance>, ownUid: number): boolean {
  return [...instances].some((one) => isLive(one) && isTrusted(uidBehind(one) ?? -1, ownUid));
}

/** Confirmed and not over: its session is or was open. */
export function isConnected(instance: Instance): boolean {
  return instance.state === 'ready' || instance.state === 'orphaned';
}

/** A change of one instance: its states before and after. Later changes are later entries, so `to` may be past already. */
export interface Change {
  readonly instance: Instance;
  readonly before: PluginState | undefined;
  readonly reasonBefore: Reason | undefined;
  /** The state made by this change; `instance` itself has the present one. */
  readonly to: InstanceReport;
  /** A plugin that was given up is being asked whether it is there again, or is not and has gone back. */
  readonly isNoNews: boolean;
}

/**
 * Hears of every change of an instance, after it is made and in the order of changes. `subscribe` (daemon/subscriptions) has them
 * all.
 */
export interface RosterListener {
  changed?(change: Change): void;
  /** The entry was dropped for good. */
  removed?(instance: Instance): void;
}
