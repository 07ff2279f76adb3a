// Tells operators what changes: every state of an instance, every change of its devices, as events and log lines.
import type { Holding } from '../inventory/inventory.js';
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';
import { pluginKey } from '../model/ids.js';
import type { RefusalCode } from '../model/reasons.js';
import type { Change, Roster } from '../reconcile/roster.js';

/** Ids of devices that are named in one event. */
const SHOWN_IDS = 5;

/** The voice of the broker. */
export class Narration {
  readonly #roster: Roster;
  readonly #events: EventSink;
  readonly #log: Log;

  constructor(roster: Roster, events: EventSink, log: Log) {
    this.#roster = roster;
    this.#events = events;
    this.#log = log;
  }

  /** An instance changed. Rejections are told by whoever refused. */
  readonly changed = ({ instance, before, reasonBefore }: Change): void => {
    const { state, reason } = instance;
    if (state === 'rejected' || (state === before && reason === reasonBefore)) return;
    const plugin = pluginKey(instance);
    const socket = instance.socketPath;
    const type = reason === 'registered' && before !== state ? 'registered' : 'state';
    const message = `${instance.name} is ${state}: ${instance.message}`;
    this.#events.record({ type, reason, plugin, socket, message });
    // A hundred plugins pass through `restored` and `connecting` in the first milliseconds of a start: that is no news.
    const isPassing = state === 'restored' || state === 'connecting';
    const level = isPassing ? 'debug' : state === 'held' || state === 'quarantined' ? 'warn' : 'info';
    this.#log[level]('plugin.state-changed', message, { plugin, socket, state, reason, pid: instance.caller?.pid });
  };

  /** A list counts. */
  devicesChanged(holding: Holding, before: Holding | undefined, duplicates: readonly string[]): void {
    const plugin = this.#plugin(holding.instanceId);
    const counts = `${String(holding.healthy)} of ${String(holding.devices)} devices are healthy`;
    if (holding.healthy !== before?.healthy || holding.devices !== before.devices) {
      const message = before === undefined ? `first list: ${counts}` : counts;
      this.#events.record({ type: 'devices', plugin, message });
    }
    if (duplicates.length === 0) return;
    const shown = duplicates.slice(0, SHOWN_IDS).map((id) => JSON.stringify(id));
    const message = `the list names ids more than once, the last counts: ${shown.join(', ')}`;
    this.#events.record({ type: 'devices', plugin, message });
  }

  /** A list was refused; the last good one stays. */
  listRefused(id: string, code: RefusalCode, sentence: string): void {
    const plugin = this.#plugin(id);
    this.#events.record({ type: 'devices', reason: code, plugin, message: sentence });
    this.#log.warn('inventory.list-refused', sentence, { plugin, code });
  }

  #plugin(id: string): string {
    const instance = this.#roster.get(id);
    return instance === undefined ? '' : pluginKey(instance);
  }
}
