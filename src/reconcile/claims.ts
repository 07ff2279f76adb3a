// The owners of names and sockets: admission's questions about the actual state.
import { pluginKey, type UserOf } from '../model/ids.js';
import { isLive, ownerUid, strangerOf, wasIn, type Instance } from '../model/instance.js';
import type { EventFacts } from '../model/event.js';
import type { RegistrationRequest } from '../model/plugin.js';
import type { Incumbent, NameClaims, NameOwner, RegistrationStore } from '../model/registration.js';
import type { Roster } from './roster.js';

/** Answers from the roster and from the decisions of operators. */
export class Claims implements NameClaims {
  readonly #roster: Roster;
  readonly #store: Pick<RegistrationStore, 'isDeregistered'>;
  readonly #userOf: UserOf;

  /** @param userOf maps a uid to the uid that stands for its user */
  constructor(roster: Roster, store: Pick<RegistrationStore, 'isDeregistered'>, userOf: UserOf) {
    this.#roster = roster;
    this.#store = store;
    this.#userOf = userOf;
  }

  /** A plugin that was sent away to register afresh is no incumbent: its name is free for its successor. */
  incumbent(type: string, name: string): Incumbent | undefined {
    const primary = this.#roster.primaryOf(type, name);
    if (primary === undefined || primary.isAway) return undefined;
    const { id, socketKey, endpointPath } = primary;
    return { id, socketKey, endpointPath, uid: ownerUid(primary) };
  }

  owner(type: string, name: string, except: string | undefined): NameOwner | undefined {
    const having = this.#roster.ofPlugin(type, name).filter((one) => isLive(one) && !one.isHint);
    // The name is with the newest that was let in, although one before it may still be connected: that may be one from which it
    // was taken. A plugin that is only being asked has the name of nobody who was let in before.
    const letIn = having.filter((one) => one.state !== 'connecting' && wasIn(one));
    const owner = letIn.sort((a, b) => b.seq - a.seq)[0] ?? having[0];
    const uid = owner === undefined ? undefined : ownerUid(owner);
    if (owner === undefined || uid === undefined || owner.socketKey === except) return undefined;
    return { uid, endpointPath: owner.endpointPath, isHeld: !hasForGood(owner) };
  }

  /** Only a pull minds a plugin that is presumed at the endpoint under another name: a caller knows its own name. */
  claimant(
    { type, name, pulled }: Pick<RegistrationRequest, 'type' | 'name' | 'pulled'>,
    key: string,
  ): string | undefined {
    return this.#roster.claimantsOf(type, key, name).find((one) => pulled || !one.isPresumed)?.name;
  }

  isDeregistered(socketKey: string): boolean {
    return this.#store.isDeregistered(socketKey);
  }

  get livePlugins(): number {
    return this.#roster.livePlugins;
  }

  livePluginsOf(uid: number, ownUid: number): { readonly own: number; readonly strangers: number } {
    const [own, strangers] = [new Set<string>(), new Set<string>()];
    for (const instance of this.#roster.all()) {
      const stranger = isLive(instance) ? strangerOf(instance, ownUid) : undefined;
      if (stranger === undefined) continue;
      strangers.add(pluginKey(instance));
      if (this.#userOf(stranger) === this.#userOf(uid)) own.add(pluginKey(instance));
    }
    return { own: own.size, strangers: strangers.size };
  }

  isKnown(type: string, name: string): boolean {
    return this.#roster.ofPlugin(type, name).some(isLive);
  }
}

/** Whether the end of an instance is not to be awaited. One that lost its path at the watcher door ends once the newcomer was asked. */
function hasForGood({ state, door }: Instance): boolean {
  return state === 'ready' || (state === 'orphaned' && door === 'register');
}

/**
 * Whether an instance that may come in takes its name from one of another user that registered later and serves or may come back.
 * It counts as the newest then. Those who may take the name themselves keep the order in which they called.
 *
 * @param siblings instances of its plugin
 * @param ruleUids rules[].uids of the plugin, which may take its name as root may
 */
export function takesNameOfNewer(
  instance: Instance,
  siblings: readonly Instance[],
  ruleUids: readonly number[] | undefined,
): boolean {
  const mayStay = [0, ownerUid(instance), ...(ruleUids ?? [])];
  return siblings.some((one) => one.seq > instance.seq && isLive(one) && !mayStay.includes(ownerUid(one)));
}

/**
 * The user of a refused registration, for its event, whose fact `by` says that the name is another user's: the refusal belongs to
 * no plugin's history, and counts for no instance of the plugin.
 *
 * @param siblings instances of the plugin whose name was called
 */
export function refusedUser(
  { caller, socket }: Pick<RegistrationRequest, 'caller' | 'socket'>,
  siblings: readonly Instance[],
): { readonly uid: number | undefined; readonly facts?: EventFacts } {
  const by = caller?.uid ?? socket?.uid;
  const owners = siblings.filter(({ registeredAt }) => registeredAt > 0).map(ownerUid);
  const isAnothers = by !== undefined && owners.length > 0 && owners.every((uid) => uid !== undefined && uid !== by);
  return { uid: by, ...(isAnothers ? { facts: { by } } : {}) };
}
