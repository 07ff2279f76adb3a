// The listeners of leases: operators by events, followers of one lease, and the views of all of them.
import { DEVICE_PLUGIN, pluginKey } from '../model/ids.js';
import type { EventSink, EventType } from '../model/event.js';
import { isLast, ownerText, type LeaseListener } from '../model/lease.js';
import type { Followers } from './followers.js';
import type { Entry } from './ledger.js';
import type { LeaseNews } from './ports.js';

/** Device ids named in one event. */
const NAMED = 8;
/** News that are no event of their own: a given lease is told as `allocated`. */
const EVENTS: ReadonlyMap<LeaseNews['type'], EventType> = new Map([
  ['impaired', 'impaired'],
  ['released', 'released'],
  ['expired', 'expired'],
]);
import { nameInText } from '../kernel/visible.js';

/** Tells. */
export class Telling {
  readonly #events: EventSink;
  readonly #listeners: LeaseListener[] = [];
  readonly #followers: Followers;

  constructor(events: EventSink, followers: Followers) {
    this.#events = events;
    this.#followers = followers;
  }

  /** Adds a listener for changes of the set of leases. */
  onChange(listener: LeaseListener): void {
    this.#listeners.push(listener);
  }

  /** A lease changed, or without one all of them. */
  changed(entry?: Entry): void {
    for (const listener of this.#listeners) listener(entry?.lease);
  }

  /** Appends one event for each resource, and sends news to the followers of the lease. */
  tell({ lease }: Entry, news: Omit<LeaseNews, 'lease'>, as?: 'allocated'): void {
    const type = as ?? EVENTS.get(news.type);
    for (const { resource, devices } of type === undefined ? [] : lease.granted) {
      const ids = devices.slice(0, NAMED).map(({ id }) => nameInText(id));
      const more = devices.length > ids.length ? ` and ${String(devices.length - ids.length)} more` : '';
      this.#events.record({
        type: type ?? 'allocated',
        reason: news.reason,
        plugin: pluginKey({ type: DEVICE_PLUGIN, name: resource }),
        uid: lease.uid,
        message: `lease ${lease.id} of ${ownerText(lease.owner)} (uid ${String(lease.uid)}) ${news.message}: ${ids.join(', ')}${more} of ${resource}`,
        facts: { lease: lease.id, kind: lease.owner.bind, resource, devices: devices.length },
      });
    }
    if (isLast(news.type)) this.#followers.end({ ...news, lease });
    else this.#followers.tell({ ...news, lease });
  }
}
