// Conditions of the broker itself, by kind: each is reported once when it begins, when it changes and when it is over.
import type { Log } from '../kernel/log.js';
import type { EventSink, EventType } from '../model/event.js';

/** The kinds of conditions, the area each belongs to, and the sentence when it is over. The checkpoint reports itself. */
const KINDS = {
  checkpoint: { area: 'checkpoint', over: undefined },
  lock: { area: 'checkpoint', over: 'the state directory is locked' },
  plugins_registry: { area: 'discovery', over: 'plugins_registry can be watched again' },
  'device-plugins': { area: 'discovery', over: 'device-plugins can be watched again' },
  'kubelet.sock': { area: 'discovery', over: 'kubelet.sock is in its place again' },
  sockets: { area: 'discovery', over: 'every socket in plugins_registry is looked at again' },
  'alloc.sock': { area: 'allocation', over: 'alloc.sock is in its place, and devices can be asked for' },
  descriptors: { area: 'descriptors', over: 'file descriptors are free again, and plugins can connect' },
  connections: { area: 'descriptors', over: 'connections to kubelet.sock are free again' },
  http: { area: 'http', over: 'metrics and health are served' },
  'pod-resources': { area: 'allocation', over: 'PodResources can be asked again' },
  'pod-resources-answers': { area: 'allocation', over: 'PodResources answers are complete again' },
  'pod-resources-upstream': { area: 'allocation', over: 'the kubelet answers PodResources again' },
  cdi: { area: 'allocation', over: 'CDI files can be written again' },
} as const;

/** The event type of each kind. */
const EVENT_TYPES = {
  checkpoint: 'checkpoint',
  discovery: 'discovery',
  descriptors: 'connection',
  allocation: 'broker',
  http: 'broker',
} as const satisfies Record<(typeof KINDS)[keyof typeof KINDS]['area'], EventType>;

/** The kind of a condition. */
export type Condition = keyof typeof KINDS;

/** The conditions of one broker. */
export class Conditions {
  readonly #log: Log;
  readonly #events: EventSink;
  readonly #changed: () => void;
  readonly #now = new Map<Condition, string>();

  /** @param changed told after each change: Daemon (daemon/daemon) tells the phase on */
  constructor(log: Log, events: EventSink, changed: () => void) {
    this.#log = log;
    this.#events = events;
    this.#changed = changed;
  }

  /** One sentence each. */
  get sentences(): readonly string[] {
    return [...this.#now.values()];
  }

  /** The areas of the present conditions, each once. */
  get areas(): readonly (typeof KINDS)[Condition]['area'][] {
    return [...new Set([...this.#now.keys()].map((what) => KINDS[what].area))];
  }

  /** Begins a condition, changes its sentence, or ends it (undefined). */
  set(what: Condition, why: string | undefined): void {
    if (this.#now.get(what) === why) return;
    if (why === undefined) this.#now.delete(what);
    else this.#now.set(what, why);
    const { area, over } = KINDS[what];
    if (over !== undefined) {
      const message = why ?? over;
      this.#log[why === undefined ? 'info' : 'error']('broker.degraded', message);
      this.#events.record({ type: EVENT_TYPES[area], message });
    }
    this.#changed();
  }
}
