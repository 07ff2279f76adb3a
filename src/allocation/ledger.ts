// All leases. Free devices are computed from them on demand: a second set of the taken ones could diverge, as the kubelet's does,
// which then hands out devices twice (kubernetes/kubernetes#137534).
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
  /** The bytes it takes of the room that leases share in the checkpoint, once computed; undefined again with another answer. */
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

/** A lease, or a mark, that has no end by time yet, and no CDI name. */
export function entryOf(lease: Lease): Entry {
  return { lease, renewed: undefined, endsAt: undefined, cdi: undefined, bytes: undefined };
}

/** Why a lease has no CDI name, where that may change. */
export function namelessReason(cdi: Entry['cdi']): NamelessReason | undefined {
  return cdi !== undefined && 'problem' in cdi ? cdi.reason : undefined;
}

/** The one structure. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  /** By uid and key: neither changes while a lease lives. */
  readonly #ofKeys = new Map<string, Entry>();
  /** How many each uid has, which no lease changes. */
  readonly #ofUids = new Map<number, number>();
  /** Those that have devices of a resource, in the order in which they came: no lease comes to have others. */
  readonly #ofResources = new Map<string, Set<Entry>>();

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
    if (!this.#entries.has(id)) this.#ofUids.set(uid, (this.#ofUids.get(uid) ?? 0) + 1);
    this.#entries.set(id, entry);
    if (key !== undefined) this.#ofKeys.set(keyOf(uid, key), entry);
    for (const resource of resourcesOf(entry)) {
      const all = this.#ofResources.get(resource) ?? new Set();
      this.#ofResources.set(resource, all.add(entry));
    }
  }

  /**
   * Gives a mark other devices of one of its resources, unless another lease has one of them by now. Looking and giving are one step:
   * answers of plugins that come together are told one after the other, each before anybody has acted on the one before.
   *
   * @returns whether it has them
   */
  exchange(entry: Entry, granted: Granted): boolean {
    const { id, granted: before } = entry.lease;
    const taken = this.takenOf(granted.resource);
    if (granted.devices.some((device) => (taken.get(device.id)?.id ?? id) !== id)) return false;
    entry.lease = {
      ...entry.lease,
      granted: before.map((one) => (one.resource === granted.resource ? granted : one)),
    };
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
    for (const resource of resourcesOf(entry)) {
      const all = this.#ofResources.get(resource);
      all?.delete(entry);
      if (all?.size === 0) this.#ofResources.delete(resource);
    }
    return this.#entries.delete(id);
  }

  /** Whether a lease, or a mark, has devices of a resource. */
  hasSome(resource: string): boolean {
    return this.#ofResources.has(resource);
  }

  /** The lease, or mark, that has each device of a resource, by device id. */
  takenOf(resource: string): Map<string, Lease> {
    const taken = new Map<string, Lease>();
    for (const { lease } of this.#ofResources.get(resource) ?? []) {
      for (const one of lease.granted) {
        if (one.resource === resource) for (const { id } of one.devices) taken.set(id, lease);
      }
    }
    return taken;
  }

  /** The same of several resources in one go: fills in the map of each. */
  takenOfAll(taken: ReadonlyMap<string, Map<string, Lease>>): void {
    for (const { lease } of this.#entries.values()) {
      for (const { resource, devices } of lease.granted) {
        const ofResource = taken.get(resource);
        if (ofResource !== undefined) for (const { id } of devices) ofResource.set(id, lease);
      }
    }
  }

  /** How many devices of a resource the uids of a user have. */
  countOf(resource: string, isOfUser: (uid: number) => boolean): number {
    let count = 0;
    for (const lease of this.takenOf(resource).values()) if (isOfUser(lease.uid)) count += 1;
    return count;
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
  const record = {
    ...{ id, uid, key, owner, wants, granted, answer, createdAt, ttlMs, bootId },
    ...(recovers === undefined ? {} : { recovers }),
  };
  return renewed === undefined ? record : { ...record, renewed };
}
