// The actual state: every known incarnation, entered only with confirmed facts. Listeners act on its changes.
import { Listeners } from '../kernel/listeners.js';
import type { Clock } from '../kernel/clock.js';
import { incarnationKey, pluginKey, type UserFacts } from '../model/ids.js';
import type { Accepted, Enrolment, InstanceReport, PluginState, WayBack } from '../model/plugin.js';
import type { Reason, Refusal } from '../model/reasons.js';
import { failLoudly, illegalBeginning, illegalChange } from './transitions.js';
import { instanceId, isLive, type Change, type Instance, type RosterListener } from '../model/instance.js';
import { forgottenFirst } from './forgetting.js';
import { newcomer } from './newcomer.js';
import { takeName } from './renaming.js';

/** Dead entries kept for `explain`: in all, and of one plugin. */
const MAX_DEAD = 256;
const MAX_DEAD_PER_PLUGIN = 3;

/** All instances, by id and by plugin. */
export class Roster {
  /** The listeners of changes. A change that a listener makes is told to all after the change that caused it. */
  readonly listeners = new Listeners<RosterListener>();
  readonly #clock: Clock;
  readonly #users: UserFacts;
  readonly #illegal: (message: string) => void;
  readonly #byId = new Map<string, Instance>();
  readonly #byPlugin = new Map<string, Set<Instance>>();
  readonly #byEndpoint = new Map<string, Set<Instance>>();
  /** Changes that listeners have not heard of yet. */
  readonly #news: ((listener: RosterListener) => void)[] = [];
  #isTelling = false;
  #seq = 0;
  readonly #dead = new Set<Instance>();

  /**
   * @param users tells whose instances those are that are over
   * @param illegal told of a change that `transitions.ts` does not know, which is a bug of ours and is not made: Daemon
   *   (daemon/daemon) logs it
   */
  constructor(clock: Clock, users: UserFacts, illegal: (message: string) => void = failLoudly) {
    this.#clock = clock;
    this.#users = users;
    this.#illegal = illegal;
  }

  /** The next place in the order of registrations; also for entries of the checkpoint. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  get(id: string): Instance | undefined {
    return this.#byId.get(id);
  }

  all(): IterableIterator<Instance> {
    return this.#byId.values();
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Instances of a plugin, newest registration first. */
  ofPlugin(type: string, name: string): Instance[] {
    const found = [...(this.#byPlugin.get(pluginKey({ type, name })) ?? [])];
    return found.sort((a, b) => b.seq - a.seq);
  }

  /** The instance that speaks for a plugin: the newest that is connected, else the newest that may come back. */
  primaryOf(type: string, name: string): Instance | undefined {
    const live = this.ofPlugin(type, name).filter(isLive);
    return live.find((one) => one.state === 'ready' || one.state === 'orphaned') ?? live[0];
  }

  /** Names with an instance that counts; admission.maxPlugins bounds them. */
  get livePlugins(): number {
    let live = 0;
    for (const instances of this.#byPlugin.values()) {
      for (const instance of instances) {
        if (isLive(instance)) {
          live += 1;
          break;
        }
      }
    }
    return live;
  }

  /** Other plugins of the same type that this very socket serves, or is presumed to serve. */
  claimantsOf(type: string, endpointKey: string, name: string): Instance[] {
    const sharers = [...(this.#byEndpoint.get(endpointKey) ?? [])];
    return sharers.filter((one) => one.type === type && one.name !== name && isLive(one));
  }

  /**
   * Enters a registration that admission let in. A known incarnation keeps its record and, while it counts, its state.
   *
   * @param seq the place of the registration in time
   * @param wayBack where a known one goes back to when it is refused
   */
  begin(enrolment: Enrolment, seq: number, wayBack?: WayBack): Instance {
    const id = instanceId(enrolment.type, enrolment.name, incarnationKey(enrolment.socket.incarnation));
    const known = this.#byId.get(id);
    if (known !== undefined) {
      known.seq = Math.max(known.seq, seq);
      this.#hold(known, enrolment);
      known.socketPath = enrolment.socket.path;
      this.#moveEndpoint(known, enrolment);
      known.versions = enrolment.versions;
      known.caller = enrolment.caller ?? known.caller;
      known.listener = enrolment.listener ?? known.listener;
      if (!enrolment.pulled) known.isPresumed = false;
      const asked = { state: 'connecting', reason: 'registering', message: 'is being dialled' } as const;
      if (!isLive(known)) this.#move(known, asked, wayBack?.state === 'gone');
      return known;
    }
    const instance = newcomer(enrolment, seq, this.#clock.wall());
    this.#hold(instance, enrolment);
    this.#enter(instance);
    return instance;
  }

  /** The registration socket of an instance goes by another of its names from now on. Its listeners look at it again. */
  rename(instance: Instance, path: string): void {
    takeName(instance, path);
    this.#changed(instance, instance.state, instance.reason);
  }

  /** Puts back an entry of the checkpoint, `restored` or `held`. */
  restore(instance: Instance): void {
    const illegal = illegalBeginning(instance);
    if (illegal === undefined) this.#enter(instance);
    else this.#illegal(illegal);
  }

  /** The handler accepted: the instance is ready. `how` tells a confirmation from a registration. */
  confirm(instance: Instance, accepted: Accepted, how: 'registered' | 'confirmed'): void {
    const now = this.#clock.wall();
    instance.version = accepted.version;
    instance.facts = accepted.facts;
    instance.isHint = false;
    instance.isConfirmed = true;
    if (how === 'registered' || instance.registeredAt === 0) instance.registeredAt = now;
    if (instance.firstRegisteredAt === 0) instance.firstRegisteredAt = now;
    const message = how === 'registered' ? 'registered' : 'answered, and serves as before';
    // A handler may have said more while it registered (list-unwatched): that stands.
    if (instance.state !== 'ready') this.#move(instance, { state: 'ready', reason: how, message });
  }

  /**
   * A registration failed. A record that counts for something else stays as it is.
   *
   * @param counts whether the plugin was refused: one that had gone before we came back to it, or hangs still, was not
   * @param wayBack where it goes back to, to be asked again; undefined: it is rejected
   */
  reject(instance: Instance, { code, message }: Refusal, counts = true, wayBack?: WayBack): void {
    if (counts) instance.counters.rejected += 1;
    if (instance.state !== 'connecting') return;
    this.#move(instance, { ...(wayBack ?? { state: 'rejected', reason: code }), message }, wayBack?.state === 'gone');
  }

  /** A fact about an instance. Reports for unknown ids and repeats change nothing; of a dead one only an operator says more. */
  report(id: string, report: InstanceReport): void {
    const instance = this.#byId.get(id);
    if (instance === undefined || instance.state === 'rejected') return;
    if (instance.state === 'gone' && report.reason !== 'deregistered') return;
    if (instance.state === report.state && instance.reason === report.reason) return;
    this.#move(instance, report);
  }

  /** Drops an entry for good. */
  remove(instance: Instance): void {
    if (!this.#byId.delete(instance.id)) return;
    this.#dead.delete(instance);
    removeFrom(this.#byPlugin, pluginKey(instance), instance);
    removeFrom(this.#byEndpoint, instance.endpointKey, instance);
    this.#letGo(instance);
    this.#tell((listener) => listener.removed?.(instance));
  }

  #moveEndpoint(known: Instance, { endpoint, endpointAsSent, pulled }: Enrolment): void {
    known.endpointPath = endpoint.path;
    if (!pulled) known.endpointAsSent = endpointAsSent;
    removeFrom(this.#byEndpoint, known.endpointKey, known);
    known.endpointKey = incarnationKey(endpoint.incarnation);
    addTo(this.#byEndpoint, known.endpointKey, known);
  }

  #enter(instance: Instance): void {
    this.#byId.set(instance.id, instance);
    addTo(this.#byPlugin, pluginKey(instance), instance);
    addTo(this.#byEndpoint, instance.endpointKey, instance);
    this.#changed(instance, undefined, undefined);
  }

  #move(instance: Instance, to: InstanceReport, isNoNews = false): void {
    const { state: before, reason: reasonBefore } = instance;
    const illegal = illegalChange(instance, to);
    if (illegal !== undefined) {
      this.#illegal(illegal);
      return;
    }
    if (before !== to.state) instance.stateSince = this.#clock.wall();
    instance.state = to.state;
    instance.reason = to.reason;
    instance.message = to.message;
    // Where the broker was restarted meanwhile, it is away until something is heard of it.
    const isUnheard = instance.isAway && to.state === 'restored';
    instance.isAway = isUnheard || to.reason === 'settling' || to.reason === 'recycled';
    const isDead = to.state === 'gone' || to.state === 'rejected';
    if (isDead) {
      this.#letGo(instance);
      instance.isServing = false;
      this.#dead.delete(instance);
      this.#dead.add(instance);
    } else {
      this.#dead.delete(instance);
    }
    this.#changed(instance, before, reasonBefore, isNoNews);
    if (isDead) this.#boundDead(instance);
  }

  #changed(
    instance: Instance,
    before: PluginState | undefined,
    reasonBefore: Reason | undefined,
    isNoNews = false,
  ): void {
    const { state, reason, message } = instance;
    const change: Change = { instance, before, reasonBefore, to: { state, reason, message }, isNoNews };
    this.#tell((listener) => listener.changed?.(change));
  }

  /** Tells all listeners, before this returns; a change that one makes meanwhile reaches each of them after it. */
  #tell(news: (listener: RosterListener) => void): void {
    this.#news.push(news);
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      for (let next = this.#news.shift(); next !== undefined; next = this.#news.shift()) {
        this.listeners.tell(next);
      }
    } finally {
      this.#isTelling = false;
    }
  }

  /** Dead entries are bounded, of this plugin and of all. */
  #boundDead(latest: Instance): void {
    const siblings = this.ofPlugin(latest.type, latest.name).filter((one) => this.#dead.has(one));
    this.#forget(siblings.reverse(), MAX_DEAD_PER_PLUGIN, latest);
    this.#forget([...this.#dead], MAX_DEAD, latest);
  }

  #forget(dead: readonly Instance[], most: number, latest: Instance): void {
    if (dead.length <= most) return;
    const others = forgottenFirst(dead, this.#users).filter((one) => one !== latest);
    for (const old of others.slice(0, dead.length - most)) this.remove(old);
  }

  /** INVARIANT(pins-follow-records): a record that counts holds both its sockets, a dead one holds none. */
  #hold(instance: Instance, enrolment: Enrolment): void {
    const held = { ...enrolment, socket: enrolment.socket.retain(), endpoint: enrolment.endpoint.retain() };
    this.#letGo(instance);
    instance.enrolment = held;
  }

  #letGo(instance: Instance): void {
    const held = instance.enrolment;
    instance.enrolment = undefined;
    held?.socket.release();
    held?.endpoint.release();
  }
}

function addTo(map: Map<string, Set<Instance>>, key: string, instance: Instance): void {
  map.set(key, (map.get(key) ?? new Set()).add(instance));
}

function removeFrom(map: Map<string, Set<Instance>>, key: string, instance: Instance): void {
  map.get(key)?.delete(instance);
  if (map.get(key)?.size === 0) map.delete(key);
}
