// All leases. Free devices are computed from them on demand: a second set of the taken ones that is rebuilt could diverge, as the
// kubelet's does, which then hands out devices twice (kubernetes/kubernetes#137534).
import type { Stamp } from '../kernel/clock.js';
import type { CdiResult, Granted, Lease, LeaseRecord, NamelessReason, PluginAnswer } from '../model/lease.js';
import { isPlain } from './request.js';
import { refused, type LeaseRef, type Result } from './result.js';

/** A lease in memory. */
export interface Entry {
  lease: Lease;
  /** When its time to live began; undefined without one. */
  renewed: Stamp | undefined;
  /** When it ends, on the monotonic scale. */
  endsAt: number | undefined;
  /** Its CDI name, or why it has none; undefined where CDI is off, and until its file was first looked at. */
  cdi: CdiResult | undefined;
  /** The bytes it takes of the room that leases share in the checkpoint, once weighed (Ledger.weigh). */
  bytes: number | undefined;
}

/** The answer of plugins that were not asked yet, or said nothing. */
export const NO_ANSWER: PluginAnswer = {
  envs: new Map(),
  mounts: [],
  devices: [],
  annotations: new Map(),
  cdiDevices: [],
};

const NOTHING: ReadonlyMap<string, Entry> = new Map<string, Entry>([]);

/** A lease, or a mark, that has no end by time yet, and no CDI name. */
export function entryOf(lease: Lease): Entry {
  return { lease, renewed: undefined, endsAt: undefined, cdi: undefined, bytes: undefined };
}

/** Why a lease has no CDI name, where that may change. */
export function namelessReason(cdi: Entry['cdi']): NamelessReason | undefined {
  return cdi !== undefined && 'problem' in cdi ? cdi.reason : undefined;
}

/**
 * The one structure: an entry stands in it by its id, its key and each of its devices. All of these are entered and left in the same
 * step by the same methods, and nothing rebuilds one from another. `lease.granted` of an entry is replaced by {@link exchange} alone.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>([]);
  /** By uid and key: neither changes while a lease lives. */
  readonly #ofKeys = new Map<string, Entry>([]);
  /** How many each uid has, which no lease changes. */
  readonly #ofUids = new Map<number, number>();
  /** By resource and device. */
  readonly #ofDevices = new Map<string, Map<string, Entry>>();
  /** Those that came with a device that another had: a checkpoint of an earlier version may say so. It is free when neither has it. */
  readonly #twice = new Set<Entry>();
  /** Those whose bytes are not known yet, and the bytes of all others. */
  readonly #unweighed = new Set<Entry>();
  #bytes = 0;

  /** Leases and marks. */
  get size(): number {
    return this.#entries.size;
  }

  all(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** How many leases and marks each uid has; uids that have none are not there. */
  countsOfUids(): ReadonlyMap<number, number> {
    return this.#ofUids;
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** Whether a lease, or a mark, has not ended: asked again after anything was awaited. */
  has(entry: Entry): boolean {
    return this.get(entry.lease.id) === entry;
  }

  /** The lease of a key. Keys are the uid's own. */
  ofKey(uid: number, key: string): Entry | undefined {
    return this.#ofKeys.get(keyOf(uid, key));
  }

  /** The lease that a user names, if it is its own; root may name any. */
  find({ id, key }: LeaseRef, uid: number): Result<Entry> {
    if (!isPlain(id) || !isPlain(key)) {
      return refused('WANT_INVALID', 'the id and the key of a lease have at most 256 bytes and no control characters');
    }
    const entry = id === '' ? this.ofKey(uid, key) : this.get(id);
    if (entry === undefined || entry.lease.state === 'asking') {
      return refused(
        'LEASE_UNKNOWN',
        id === '' ? `uid ${String(uid)} has no lease with key ${key}` : `there is no lease ${id}`,
      );
    }
    if (uid === 0 || uid === entry.lease.uid) return { ok: true, value: entry };
    return refused('NOT_OWNER', `lease ${id} belongs to another uid`);
  }

  add(entry: Entry): void {
    const { id, uid, key } = entry.lease;
    if (this.#entries.has(id)) return;
    this.#ofUids.set(uid, (this.#ofUids.get(uid) ?? 0) + 1);
    this.#entries.set(id, entry);
    this.#unweighed.add(entry);
    if (key !== undefined) this.#ofKeys.set(keyOf(uid, key), entry);
    this.#take(entry);
  }

  /**
   * Gives a mark other devices of one of its resources, unless another lease has one of them by now. Looking and giving are one step:
   * answers of plugins that come together are told one after the other, each before anybody has acted on the one before.
   *
   * @returns whether it has them
   */
  exchange(entry: Entry, granted: Granted): boolean {
    const taken = this.takenOf(granted.resource);
    if (granted.devices.some((device) => (taken.get(device.id) ?? entry) !== entry)) return false;
    this.#leave(entry);
    entry.lease = {
      ...entry.lease,
      granted: entry.lease.granted.map((one) => (one.resource === granted.resource ? granted : one)),
    };
    this.#take(entry);
    return true;
  }

  /** Whether it was there. */
  remove(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    const { uid, key } = entry.lease;
    if (key !== undefined && this.ofKey(uid, key) === entry) this.#ofKeys.delete(keyOf(uid, key));
    const left = (this.#ofUids.get(uid) ?? 0) - 1;
    if (left > 0) this.#ofUids.set(uid, left);
    else this.#ofUids.delete(uid);
    this.#leave(entry);
    this.weigh(entry, undefined);
    this.#unweighed.delete(entry);
    return this.#entries.delete(id);
  }

  /** Sets the bytes of an entry, as long as it is here; undefined: they are not known. */
  weigh(entry: Entry, bytes: number | undefined): void {
    if (!this.has(entry)) return;
    this.#bytes += (bytes ?? 0) - (entry.bytes ?? 0);
    entry.bytes = bytes;
    if (bytes === undefined) this.#unweighed.add(entry);
    else this.#unweighed.delete(entry);
  }

  /** The bytes of all entries. @param bytesOf those of an entry that was not weighed yet; undefined: it has none yet */
  bytes(bytesOf: (lease: Lease) => number | undefined): number {
    for (const entry of this.#unweighed) this.weigh(entry, bytesOf(entry.lease));
    return this.#bytes;
  }

  /** Whether a lease, or a mark, has devices of a resource. */
  hasSome(resource: string): boolean {
    return this.#ofDevices.has(resource);
  }

  /** The lease, or mark, that has each device of a resource, by device id: as it is at any time, not a copy. */
  takenOf(resource: string): ReadonlyMap<string, Entry> {
    return this.#ofDevices.get(resource) ?? NOTHING;
  }

  /** How many devices of a resource the uids of a user have. */
  countOf(resource: string, isOfUser: (uid: number) => boolean): number {
    let count = 0;
    for (const { lease } of this.takenOf(resource).values()) if (isOfUser(lease.uid)) count += 1;
    return count;
  }

  #take(entry: Entry): void {
    for (const { resource, devices } of entry.lease.granted) {
      const taken = this.#ofDevices.get(resource) ?? new Map<string, Entry>();
      if (devices.length > 0) this.#ofDevices.set(resource, taken);
      for (const { id } of devices) {
        if ((taken.get(id) ?? entry) === entry) taken.set(id, entry);
        else this.#twice.add(entry);
      }
    }
  }

  #leave(entry: Entry): void {
    this.#twice.delete(entry);
    for (const { resource, devices } of entry.lease.granted) {
      const taken = this.#ofDevices.get(resource);
      for (const { id } of devices) if (taken?.get(id) === entry) taken.delete(id);
      if (taken?.size === 0) this.#ofDevices.delete(resource);
    }
    for (const other of this.#twice) this.#take(other);
  }
}

function keyOf(uid: number, key: string): string {
  return `${String(uid)} ${key}`;
}

/** The resources of which a lease has devices. */
export function resourcesOf({ lease }: Pick<Entry, 'lease'>): ReadonlySet<string> {
  return new Set(lease.granted.map(({ resource }) => resource));
}

/** A lease as it goes on the disk. */
export function recordOf({ lease, renewed }: Pick<Entry, 'lease' | 'renewed'>): LeaseRecord {
  const { id, uid, key, owner, wants, granted, answer, createdAt, ttlMs, bootId, recovers } = lease;
  return {
    ...{ id, uid, key, owner, wants, granted, answer, createdAt, ttlMs, bootId },
    ...(recovers === undefined ? {} : { recovers }),
    ...(renewed === undefined ? {} : { renewed }),
  };
}
