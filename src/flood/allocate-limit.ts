// How often one user may request devices (`flood.allocate`) and, counted apart, ask about its leases. Further requests are
// refused with a time to come back; none waits here, and nobody is quarantined.
import type { FloodSettings } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import { Limiters } from './entries.js';
import { nobodysView } from './limit-views.js';
import type { Limiter } from './limiter.js';
import type { FloodPorts } from './ports.js';

/** The uid of those that are counted together, because there are too many. */
const OTHERS = -1;

/** The ports of the limit. `events` gets one for each call that is only observed: a refused one is reported by its refuser. */
export type AllocateLimitPorts = Pick<FloodPorts, 'openLimiter' | 'metrics' | 'events' | 'userOf'>;

interface Entry {
  readonly uid: number;
  readonly limiter: Limiter;
  exceeded: number;
}

/** The bucket `allocate` of each uid. */
export class AllocateLimit {
  readonly #ports: AllocateLimitPorts;
  readonly #entries = new Limiters<Entry>();
  #settings: FloodSettings;

  constructor(settings: FloodSettings, ports: AllocateLimitPorts) {
    this.#settings = settings;
    this.#ports = ports;
  }

  /** Counts a call. Undefined: it may go on; else milliseconds until the next one may. */
  ask(uid: number, about: 'devices' | 'leases' = 'devices'): number | undefined {
    const entry = this.#entryOf(this.#ports.userOf(uid), about);
    if (entry.limiter.tryTake()) return undefined;
    entry.exceeded += 1;
    const isObserved = this.#settings.mode === 'observe';
    this.#ports.metrics.floodExceeded('allocate', isObserved ? 'observe' : 'reject');
    const leftMs = Math.max(1, Math.ceil(entry.limiter.nextInMs()));
    if (!isObserved) return leftMs;
    const message = `uid ${String(uid)} asks for devices more often than flood.allocate allows; it would be refused, if flood.mode were enforce`;
    this.#ports.events.record({ type: 'flood', reason: 'FLOOD_ALLOCATE', message });
    return undefined;
  }

  /** Goes on under other settings with the permits that are left. */
  reload(settings: FloodSettings): void {
    this.#settings = settings;
    this.#entries.reload(settings.allocate);
  }

  /** Uids that asked a moment ago, or asked too often. */
  views(): LimitView[] {
    const { mode } = this.#settings;
    const noticed = this.#entries.all().filter(({ limiter, exceeded }) => exceeded > 0 || !limiter.isFull());
    return noticed.map(({ uid, limiter, exceeded }) => {
      const slowing = limiter.permits() > 0 || exceeded === 0 ? '' : mode === 'observe' ? 'observe' : 'reject';
      return nobodysView('allocate', limiter, { uid, mode, exceeded, slowing });
    });
  }

  /** Stops all limiters. */
  close(): void {
    this.#entries.close();
  }

  #entryOf(uid: number, about: string): Entry {
    const open = (isShared: boolean): Entry => {
      const limiter = this.#ports.openLimiter(this.#settings.allocate);
      return { uid: isShared ? OTHERS : uid, limiter, exceeded: 0 };
    };
    return this.#entries.of(`${about} ${String(uid)}`, open, `${about} ${String(OTHERS)}`);
  }
}
