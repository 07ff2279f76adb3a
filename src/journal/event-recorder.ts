// Reports changes to operators: every state of an instance, every change of its devices, every refusal that no plugin can be
// named for; as events and log lines.
import type { Holding, ListListener } from '../model/device-list.js';
import type { Surroundings } from '../kernel/surroundings.js';
import type { EventSink } from '../model/event.js';
import { DEVICE_PLUGIN, pluginKey, type Caller, type UserFacts } from '../model/ids.js';
import { strangerUserOf, uidBehind, type Change, type Instance, type RosterListener } from '../model/instance.js';
import type { RefusedSockets } from '../model/registration.js';
import type { Refusal, RefusalCode } from '../model/reasons.js';

/** Ids of devices that are named in one event. */
const SHOWN_IDS = 5;

/** The outputs and sources of the recorder. */
export interface EventRecorderPorts extends Pick<Surroundings, 'log' | 'metrics'>, UserFacts {
  readonly events: EventSink;
  /** The facts about an instance, for its name: Roster (reconcile/roster). */
  readonly roster: {
    get(id: string): Instance | undefined;
    primaryOf(type: string, name: string): Instance | undefined;
  };
}

/** Records the changes of plugins. */
export class EventRecorder implements RosterListener, ListListener, RefusedSockets {
  readonly #ports: EventRecorderPorts;

  constructor(ports: EventRecorderPorts) {
    this.#ports = ports;
  }

  /** An instance changed. Rejections are reported by the stage that refused. */
  changed({ instance, before, reasonBefore, to, isNoNews }: Change): void {
    const { state, reason } = to;
    const { events, log } = this.#ports;
    if (state === 'rejected' || (state === before && reason === reasonBefore)) return;
    const plugin = pluginKey(instance);
    const socket = instance.socketPath;
    const type = reason === 'registered' && before !== state ? 'registered' : 'state';
    const message = `${instance.name} is ${state}: ${to.message}`;
    const primary = this.#ports.roster.primaryOf(instance.type, instance.name);
    const facts = {
      ...(primary === undefined || primary === instance ? { state } : {}),
      ...(instance.registeredAt === 0 ? { newcomer: 1 } : {}),
    };
    const known = Object.keys(facts).length === 0 ? {} : { facts };
    const uid = uidBehind(instance);
    if (!isNoNews) events.record({ type, reason, plugin, uid, socket, message, ...known });
    // A hundred plugins pass through `restored` and `connecting` in the first milliseconds of a start: that is no news.
    const isPassing = isNoNews || state === 'restored' || state === 'connecting';
    const level = isPassing ? 'debug' : state === 'held' || state === 'quarantined' ? 'warn' : 'info';
    const by = { pid: instance.caller?.pid, uid };
    log[level]('plugin.state-changed', message, { plugin, socket, state, reason, ...by });
  }

  /** So many lists or losses more of an instance. Unknown instances are ignored. */
  counted(id: string, what: 'updates' | 'coalesced' | 'disconnects', by: number): void {
    const { roster, metrics } = this.#ports;
    const instance = roster.get(id);
    if (instance === undefined) return;
    instance.counters[what] += by;
    if (what === 'coalesced') metrics.update(instance.name, 'coalesced', by, strangerUserOf(instance, this.#ports));
  }

  /** A list counts. */
  listApplied(holding: Holding, before: Holding | undefined, duplicates: readonly string[]): void {
    const about = this.#about(holding.instanceId);
    const counts = `${String(holding.healthy)} of ${String(holding.devices)} devices are healthy`;
    if (holding.healthy !== before?.healthy || holding.devices !== before.devices) {
      const message = before === undefined ? `first list: ${counts}` : counts;
      const facts = { devices: holding.devices, healthy: holding.healthy };
      this.#ports.events.record({ type: 'devices', ...about, message, facts });
    }
    if (duplicates.length === 0) return;
    const shown = duplicates.slice(0, SHOWN_IDS).map((id) => JSON.stringify(id));
    const message = `the list names ids more than once, the last counts: ${shown.join(', ')}`;
    this.#ports.events.record({ type: 'devices', ...about, message });
  }

  /** A list was refused; the last good one stays. */
  listRefused(id: string, code: RefusalCode, sentence: string): void {
    const about = this.#about(id);
    this.#ports.events.record({ type: 'devices', reason: code, ...about, message: sentence });
    this.#ports.log.warn('inventory.list-refused', sentence, { ...about, code });
  }

  /** A registration socket was refused whose plugin is unknown. */
  refusedAt(socket: string, { code, message }: Refusal, uid: number): void {
    const { events, log, metrics } = this.#ports;
    events.record({ type: 'refused', reason: code, socket, uid, message });
    log.warn('registration.refused', message, { code, socket, uid });
    metrics.registration('other', 'refused', code);
  }

  /** A call on kubelet.sock was refused that is no RegisterRequest. */
  undecodable({ code, message }: Refusal, caller: Caller | undefined): void {
    const { events, log, metrics } = this.#ports;
    const uid = caller?.uid;
    events.record({ type: 'refused', reason: code, uid, message: `${message} (uid ${String(uid ?? '?')})` });
    log.warn('registration.refused', message, { code, uid, pid: caller?.pid });
    metrics.registration(DEVICE_PLUGIN, 'refused', code);
  }

  #about(id: string): { readonly plugin: string; readonly uid: number | undefined } {
    const instance = this.#ports.roster.get(id);
    return { plugin: instance === undefined ? '' : pluginKey(instance), uid: uidBehind(instance) };
  }
}
