// One user's share of the room for leases: their number, requests in line, and bytes of the checkpoint, which is written whole at
// each change and read whole at a start. Plugins of ordinary users decide how long ids and answers are.
import { sleep } from '../kernel/clock.js';
import { KeyedLane } from '../kernel/keyed-lane.js';
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import { strangerUser } from '../model/ids.js';
import type { Lease, PluginAnswer } from '../model/lease.js';
import { DecisionTime } from './decision-time.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationPorts, AskedAbout } from './ports.js';
import type { Refused } from './result.js';

/** Requests that may wait. */
const MOST_WAITING = 256;
/** Lists of leases that may be sent at a time, as far as ordinary users have a share of them. */
const MOST_LISTS = 256;
/** As JSON. Half of the largest checkpoint that a start reads; a thousand leases of real plugins take a few hundred KiB. */
const MOST_BYTES = 32 * 1024 * 1024;
/**
 * The bytes of one user that is neither root nor the broker's, and of all of them: everybody's registration writes them again.
 */
const OWN_BYTES = 1024 * 1024;
const STRANGERS_BYTES = 4 * 1024 * 1024;
/**
 * The bytes that a device counts beside its own, for each NUMA node: PodResources lists each with its id and its resource, all
 * of them in one turn of the loop. A user has fewer than 4,096 of them.
 */
const DEVICE_BYTES = 256;
/** Devices of all lists that one request of such a user has looked through, unless it is one list: they are kept decoded together. */
const MOST_LISTED = 65_536;
/** A decision about this many devices takes a millisecond or two. */
const FEW_LISTED = 16_384;
/** Looking at so many takes a tenth of a millisecond, and an ordinary user has a tenth of the time. */
const LISTED_PER_MS = 1000;

type Needs = Pick<AllocationPorts, 'clock' | 'ownUid' | 'userOf' | 'settings' | 'flood' | 'offers' | 'nextTurn'>;

/** Counts by user. Root and the broker's own user may have all of the room. */
export class Shares {
  readonly #ports: Needs;
  readonly #ledger: Ledger;
  /** The time that encoding leases takes, by user. */
  readonly #time: DecisionTime;
  /** Pages of lists that wait to be encoded, by user. */
  readonly #pages = new KeyedLane();

  constructor(ports: Needs, ledger: Ledger) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#time = new DecisionTime(ports);
  }

  /** Counts a call, and says why it comes too soon. Calls of root and of the broker's own user about leases are not counted. */
  tooOften(uid: number, about: AskedAbout): Refused | undefined {
    if (about === 'leases' && !this.#isStranger(uid)) return undefined;
    const retryAfterMs = this.#ports.flood.ask(uid, about) ?? this.#time.waitMs(uid);
    if (retryAfterMs === 0) return undefined;
    const message = `uid ${String(uid)} asks for ${about} more often than it may; ask again in ${(retryAfterMs / 1000).toFixed(2)} s`;
    return { ok: false, refusal: { code: 'FLOOD_ALLOCATE', message, retryAfterMs } };
  }

  /**
   * Encodes leases for a caller, and counts the time that this takes, because plugins decide how many variables a lease has: an
   * ordinary user that has taken more than a tenth of the time asks too often.
   */
  telling<T>(uid: number, work: () => T): T {
    return this.#time.spend(uid, work);
  }

  /**
   * Encodes a page of a list of leases as `telling` does: for an ordinary user one in a turn of the loop, when it has time left. The
   * pages before may have left all its lists at once.
   *
   * @throws what `work` throws
   */
  async tellingPage<T>(uid: number, work: () => T): Promise<T> {
    const payer = strangerUser(uid, this.#ports);
    if (payer === undefined) return work();
    return this.#pages.run(String(payer), async () => {
      const { clock, nextTurn } = this.#ports;
      const waitMs = this.#time.waitMs(uid);
      if (waitMs > 0) await sleep(clock, Math.ceil(waitMs));
      await nextTurn();
      return this.#time.spend(uid, work);
    });
  }

  /** Why a user may be sent no further list of leases now, beside those of `sending`: each takes the memory of a page. */
  ofListing(uid: number, sending: readonly number[]): Refused | undefined {
    const unfair = this.#unfairShare(uid, each(sending), MOST_LISTS);
    if (unfair === undefined) return undefined;
    const message = `${unfair} of the ${String(MOST_LISTS)} lists of leases that may be sent at a time`;
    return { ok: false, refusal: { code: 'FLOOD_ALLOCATE', message, retryAfterMs: 1000 } };
  }

  /** Why a request names too much to look through for a user. */
  ofLists(uid: number, resources: readonly string[]): AllocationRefusal | undefined {
    const names = new Set(resources);
    if (names.size < 2 || !this.#isStranger(uid)) return undefined;
    const listed = this.#listed(names);
    if (listed <= MOST_LISTED) return undefined;
    const message = `the ${String(names.size)} resources have ${String(listed)} devices together, and one request of an ordinary user looks through ${String(MOST_LISTED)}; ask for them in several requests`;
    return { code: 'WANT_INVALID', message };
  }

  /** Milliseconds of rest before a decision about a request of an ordinary user, where lists are long; 0: it may come at once. */
  restMs(uid: number, resources: readonly string[]): number {
    const listed = this.#isStranger(uid) ? this.#listed(new Set(resources)) : 0;
    return listed <= FEW_LISTED ? 0 : listed / LISTED_PER_MS;
  }

  /** Why a user may have no further lease now. */
  ofLeases(uid: number): AllocationRefusal | undefined {
    const { maxLeases } = this.#ports.settings;
    if (this.#ledger.size >= maxLeases) {
      const message = `there are ${String(this.#ledger.size)} leases, and allocator.maxLeases is ${String(maxLeases)}`;
      return { code: 'LEASES_FULL', message };
    }
    if (!this.#isStranger(uid)) return undefined;
    const unfair = this.#unfairShare(uid, this.#ledger.countsOfUids(), maxLeases);
    return unfair === undefined ? undefined : { code: 'LEASES_FULL', message: `${unfair} of allocator.maxLeases` };
  }

  /** Why a user may have no further request in line, beside those of `waiting`. */
  ofWaiting(uid: number, waiting: readonly number[]): string | undefined {
    if (waiting.length >= MOST_WAITING) return `${String(MOST_WAITING)} requests wait for devices already`;
    const unfair = this.#unfairShare(uid, each(waiting), MOST_WAITING);
    return unfair === undefined ? undefined : `${unfair} of the ${String(MOST_WAITING)} requests that may wait`;
  }

  /** Why a user may not follow a lease, beside those of `following`: it may with all its leases, by a follower for each. */
  ofFollowing(uid: number, following: readonly number[]): string | undefined {
    const unfair = this.#unfairShare(uid, each(following), this.#ports.settings.maxLeases);
    return unfair === undefined
      ? undefined
      : `${unfair} of as many callers that follow leases as allocator.maxLeases says`;
  }

  /**
   * Names the user that would have too many of `most`, as the beginning of a sentence; undefined where `uid` may have one more.
   *
   * @param taken uids with how many they have
   */
  #unfairShare(uid: number, taken: Iterable<readonly [number, number]>, most: number): string | undefined {
    if (!this.#isStranger(uid)) return undefined;
    let [own, all] = [0, 0];
    for (const [one, count] of taken) {
      if (!this.#isStranger(one)) continue;
      all += count;
      if (this.#isSame(one, uid)) own += count;
    }
    if (own >= most / 4) return `uid ${String(uid)} has ${String(own)}, a quarter`;
    if (all < (3 * most) / 4) return undefined;
    return `users other than root and the broker have ${String(all)}, three quarters`;
  }

  /** Why an answer of plugins for a lease cannot be kept beside all other leases, or undefined when it can. It is weighed with it. */
  ofBytes(weighed: Entry, answer: PluginAnswer): AllocationRefusal | undefined {
    const { uid } = weighed.lease;
    const bytes = bytesOf({ ...weighed.lease, answer });
    this.#ledger.weigh(weighed, bytes);
    const all = this.#ledger.bytes((lease) => (hasNoAnswer(lease) ? undefined : bytesOf(lease)));
    if (all > MOST_BYTES) return full(`the lease has ${String(bytes)} bytes, and all leases`, all, MOST_BYTES);
    if (!this.#isStranger(uid)) return undefined;
    let [own, strangers] = [0, 0];
    for (const { lease, bytes: taken } of this.#ledger.all()) {
      if (taken === undefined || !this.#isStranger(lease.uid)) continue;
      // The devices of ordinary users count beside the bytes of their leases.
      const counted = taken + toldBytes(lease);
      strangers += counted;
      if (this.#isSame(lease.uid, uid)) own += counted;
    }
    const counting = `, each device counting as ${String(DEVICE_BYTES)},`;
    if (own > OWN_BYTES) return full(`the leases of uid ${String(uid)}`, own, OWN_BYTES, counting);
    if (strangers <= STRANGERS_BYTES) return undefined;
    return full('the leases of users other than root and the broker', strangers, STRANGERS_BYTES, counting);
  }

  #isSame(uid: number, other: number): boolean {
    return this.#ports.userOf(uid) === this.#ports.userOf(other);
  }

  #listed(names: ReadonlySet<string>): number {
    let listed = 0;
    for (const name of names) listed += this.#ports.offers.of(name)?.listed ?? 0;
    return listed;
  }

  #isStranger(uid: number): boolean {
    return strangerUser(uid, this.#ports) !== undefined;
  }
}

/** Uids with one thing for each time that they are named. */
function each(uids: readonly number[]): (readonly [number, number])[] {
  return uids.map((uid) => [uid, 1] as const);
}

/** A mark has no answer yet, and no bytes on the disk. */
function hasNoAnswer({ state, answer }: Lease): boolean {
  return state === 'asking' && answer.envs.size === 0 && answer.mounts.length === 0;
}

function bytesOf({ answer, wants, granted, owner, key }: Lease): number {
  const { envs, mounts, devices, annotations, cdiDevices } = answer;
  const parts = [wants, granted, owner, key, [...envs], mounts, devices, [...annotations], cdiDevices];
  return Buffer.byteLength(JSON.stringify(parts));
}

/** PodResources tells each device once for every NUMA node. */
function toldBytes({ granted }: Lease): number {
  let told = 0;
  for (const { devices } of granted) for (const { numaNodes } of devices) told += Math.max(1, numaNodes.length);
  return DEVICE_BYTES * told;
}

function full(whose: string, bytes: number, most: number, counting = ''): AllocationRefusal {
  const message = `${whose} would take ${String(bytes)} bytes with the answers of plugins${counting} and ${String(most)} are taken`;
  return { code: 'LEASES_FULL', message };
}
