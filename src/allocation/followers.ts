// The followers of leases. A plugin may report the health of a device as often as it likes, and each report goes with the whole
// lease to all its followers: news of one lease are sent some time apart, the newest in place of those before, in turns with
// everything else, and those of one ordinary user's leases in a share of the time.
import { isDone } from '../kernel/if-possible.js';
import type { Lease } from '../model/lease.js';
import { Alarms } from './alarms.js';
import { DecisionTime } from './decision-time.js';
import type { Entry } from './ledger.js';
import type { AllocationPorts, LeaseNews } from './ports.js';

/** The followers of one lease at most: each is sent the whole lease. */
const MOST_FOLLOWERS = 16;
/** News of one lease are told so far apart. The first after a while are told at once, and so is its end, always. */
const APART_MS = 1000;
/** Telling is done for so long before everything else has a turn. */
const SLICE_MS = 3;

/** Tells one follower. Of the same news all are given the same value, so that it is encoded once. */
export type Tell = (news: LeaseNews) => void;

type Needs = Pick<AllocationPorts, 'clock' | 'ownUid' | 'userOf' | 'nextTurn'>;

/** The followers of one lease. */
interface Followed {
  /** With the uid of each. */
  readonly followers: Map<Tell, number>;
  /** The newest news, as long as they are not told. */
  next: LeaseNews | undefined;
  /** When news were told last, on the monotonic scale. */
  toldAt: number;
  /** The first message to newcomers, which is the same for one state of the lease and its CDI name. */
  attached: LeaseNews | undefined;
  cdi: Entry['cdi'];
}

/** Sends the news of leases to their followers. */
export class Followers {
  readonly #ports: Needs;
  readonly #alarms: Alarms;
  readonly #time: DecisionTime;
  readonly #followed = new Map<string, Followed>();
  /** Leases of which followers are being told now. */
  readonly #line = new Set<Followed>();
  #isTelling = false;

  constructor(ports: Needs) {
    this.#ports = ports;
    this.#alarms = new Alarms(ports.clock);
    this.#time = new DecisionTime(ports);
  }

  /** Why nobody else may follow a lease, if that is so. */
  crowded({ id }: Lease): string | undefined {
    const count = this.#followed.get(id)?.followers.size ?? 0;
    return count < MOST_FOLLOWERS ? undefined : `${String(count)} callers follow lease ${id} already`;
  }

  /** The uid of each follower of any lease. */
  uids(): readonly number[] {
    return [...this.#followed.values()].flatMap(({ followers }) => [...followers.values()]);
  }

  /** Sends a lease, and its news from now on, until the returned function is called. @param uid the follower's */
  follow({ lease, cdi }: Pick<Entry, 'lease' | 'cdi'>, uid: number, tell: Tell): () => void {
    const { id } = lease;
    const followed = this.#followed.get(id) ?? {
      followers: new Map(),
      next: undefined,
      toldAt: -Infinity,
      attached: undefined,
      cdi,
    };
    this.#followed.set(id, followed);
    followed.followers.set(tell, uid);
    // A CDI name that came later is told to those who come then.
    if (followed.attached?.lease !== lease || followed.cdi !== cdi) {
      followed.cdi = cdi;
      followed.attached = { type: 'attached', reason: lease.reason ?? '', message: 'follows the lease', lease };
    }
    tell(followed.attached);
    return () => {
      followed.followers.delete(tell);
      if (followed.followers.size === 0 && this.#followed.get(id) === followed) this.#forget(id, followed);
    };
  }

  /** Tells news as soon as those before are told long enough. */
  tell(news: LeaseNews): void {
    const followed = this.#followed.get(news.lease.id);
    if (followed === undefined) return;
    const isFirst = followed.next === undefined;
    followed.next = news;
    if (isFirst) this.#await(followed, followed.toldAt + APART_MS - this.#ports.clock.mono());
  }

  /** Tells the last news of a lease at once, and nothing of it any more. */
  end(news: LeaseNews): void {
    const { id } = news.lease;
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    this.#forget(id, followed);
    const followers = [...followed.followers.keys()];
    followed.followers.clear();
    for (const tell of followers) told(tell, news);
  }

  /** Nobody is told anything any more. */
  stop(): void {
    this.#alarms.stop();
    for (const followed of this.#followed.values()) {
      followed.next = undefined;
      followed.followers.clear();
    }
  }

  #forget(id: string, followed: Followed): void {
    this.#followed.delete(id);
    followed.next = undefined;
  }

  #await(followed: Followed, ms: number): void {
    if (ms > 0) this.#alarms.set(ms, () => this.#await(followed, 0), followed);
    else {
      this.#line.add(followed);
      if (!this.#isTelling) void this.#goOn();
    }
  }

  /** Tells those in line, a slice in each turn of the loop. */
  async #goOn(): Promise<void> {
    this.#isTelling = true;
    const { clock, nextTurn } = this.#ports;
    await nextTurn();
    let since = clock.mono();
    for (const followed of this.#line) {
      this.#line.delete(followed);
      const news = followed.next;
      if (news === undefined) continue;
      const { uid } = news.lease;
      const owes = this.#time.waitMs(uid);
      if (owes > 0) {
        this.#await(followed, Math.ceil(owes));
        continue;
      }
      followed.next = undefined;
      followed.toldAt = clock.mono();
      for (const tell of [...followed.followers.keys()]) {
        if (clock.mono() - since >= SLICE_MS) {
          await nextTurn();
          since = clock.mono();
        }
        // A follower that left meanwhile, or heard of the end of the lease.
        if (!followed.followers.has(tell)) continue;
        this.#time.spend(uid, () => told(tell, news));
      }
    }
    this.#isTelling = false;
  }
}

/**
 * A follower whose stream fails keeps nothing from the others: its stream ends, and following again tells it the present state.
 */
function told(tell: Tell, news: LeaseNews): void {
  isDone(() => tell(news));
}
