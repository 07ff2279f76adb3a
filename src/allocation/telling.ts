// Who hears of leases: operators by events, those who follow one lease, and those who show all of them.
import { DEVICE_PLUGIN, pluginKey } from '../model/ids.js';
import type { EventSink, EventType } from '../model/event.js';
import { ownerText, type LeaseListener } from '../model/lease.js';
import type { Entry } from './ledger.js';
import type { LeaseNews } from './ports.js';

/** Device ids named in one event. */
const NAMED = 8;
/** News that are no event of their own: what is given is told as `allocated`. */
const EVENTS: ReadonlyMap<LeaseNews['type'], EventType> = new Map([
  ['impaired', 'impaired'],
  ['released', 'released'],
  ['expired', 'expired'],
]);

/** Who may follow one lease: each is told all that the lease has, which may wait for one that does not read. */
export const MOST_FOLLOWERS = 16;

/** Tells. */
export class Telling {
  readonly #events: EventSink;
  readonly #listeners: LeaseListener[] = [];
  readonly #followers = new Map<string, Set<(news: LeaseNews) => void>>();

  constructor(events: EventSink) {
    this.#events = events;
  }

  /** Adds a listener for changes of what leases there are. */
  onChange(listener: LeaseListener): void {
    this.#listeners.push(listener);
  }

  /** A lease changed, or without one all of them. */
  changed(entry?: Entry): void {
    for (const listener of this.#listeners) listener(entry?.lease);
  }

  /** How many follow a lease. */
  followersOf(id: string): number {
    return this.#followers.get(id)?.size ?? 0;
  }

  /** Tells the news of one lease from now on, until the returned function is called. */
  follow(id: string, tell: (news: LeaseNews) => void): () => void {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers.add(tell));
    return () => {
      followers.delete(tell);
      if (followers.size === 0) this.#followers.delete(id);
    };
  }

  /** The lease is over, and its last news are told. */
  forget(id: string): void {
    this.#followers.delete(id);
  }

  /** One event for each resource, and news for whoever follows the lease. */
  tell({ lease }: Entry, news: Omit<LeaseNews, 'lease'>, as?: 'allocated'): void {
    const type = as ?? EVENTS.get(news.type);
    for (const { resource, devices } of type === undefined ? [] : lease.granted) {
      const ids = devices.slice(0, NAMED).map(({ id }) => id);
      const more = devices.length > ids.length ? ` and ${String(devices.length - ids.length)} more` : '';
      this.#events.record({
        type: type ?? 'allocated',
        reason: news.reason,
        plugin: pluginKey({ type: DEVICE_PLUGIN, name: resource }),
        message: `lease ${lease.id} of ${ownerText(lease.owner)} (uid ${String(lease.uid)}) ${news.message}: ${ids.join(', ')}${more} of ${resource}`,
        facts: { lease: lease.id, kind: lease.owner.bind, resource, devices: devices.length },
      });
    }
    for (const tell of this.#followers.get(lease.id) ?? []) tell({ ...news, lease });
  }
}
