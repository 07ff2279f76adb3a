// What is wrong now, by what it is about: each is told once when it begins, when it changes and when it is over.
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';

/** What can be wrong, the area it belongs to, and the sentence when it is over. The checkpoint tells of itself. */
const TROUBLES = {
  checkpoint: { area: 'checkpoint', over: undefined },
  plugins_registry: { area: 'discovery', over: 'plugins_registry can be watched again' },
  'device-plugins': { area: 'discovery', over: 'device-plugins can be watched again' },
  'kubelet.sock': { area: 'discovery', over: 'kubelet.sock is in its place again' },
  descriptors: { area: 'descriptors', over: 'file descriptors are free again, and plugins can connect' },
} as const;

/** What a trouble is about. */
export type Trouble = keyof typeof TROUBLES;

/** The troubles of one daemon. */
export class Troubles {
  readonly #log: Log;
  readonly #events: EventSink;
  readonly #changed: () => void;
  readonly #now = new Map<Trouble, string>();

  constructor(log: Log, events: EventSink, changed: () => void) {
    this.#log = log;
    this.#events = events;
    this.#changed = changed;
  }

  /** One sentence each. */
  get sentences(): readonly string[] {
    return [...this.#now.values()];
  }

  /** What they belong to, each once. */
  get areas(): readonly (typeof TROUBLES)[Trouble]['area'][] {
    return [...new Set([...this.#now.keys()].map((what) => TROUBLES[what].area))];
  }

  /** Begins a trouble, changes its sentence, or ends it (undefined). */
  set(what: Trouble, why: string | undefined): void {
    if (this.#now.get(what) === why) return;
    if (why === undefined) this.#now.delete(what);
    else this.#now.set(what, why);
    const { area, over } = TROUBLES[what];
    if (over !== undefined) {
      const message = why ?? over;
      this.#log[why === undefined ? 'info' : 'error']('broker.degraded', message);
      this.#events.record({ type: area === 'descriptors' ? 'connection' : 'discovery', message });
    }
    this.#changed();
  }
}
