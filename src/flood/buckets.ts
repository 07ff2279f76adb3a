// All buckets of `register`, bounded: only full, strike-less ones are evicted, newcomers past the cap share one per uid,
// and plugins of the checkpoint keep theirs.
import type { PluginPolicy } from '../model/settings.js';
import { Bucket, type BucketKind } from './bucket.js';
import { makeRoom } from './make-room.js';
import type { FloodPorts } from './ports.js';
import type { FloodKey } from '../model/flood.js';

/** Uids that have shared buckets of their own; further ones share one bucket, so that no number of uids fills memory. */
const MAX_SHARING_UIDS = 256;
/** The uid of a bucket that belongs to no uid in particular. */
const ANY_UID = -1;

/** What buckets need. */
export interface BucketsPorts extends Pick<FloodPorts, 'openLimiter' | 'clock'> {
  /** The most there may be, shared and pinned ones aside. */
  readonly most: () => number;
}

/** Finds the bucket of a plugin and uid, and makes it when there is none. */
export class Buckets {
  readonly #ports: BucketsPorts;
  readonly #own = new Map<string, Bucket>();
  readonly #shared = new Map<string, Bucket>();
  /** How many incarnations of a plugin are in the checkpoint. */
  readonly #pinned = new Map<string, number>();

  constructor(ports: BucketsPorts) {
    this.#ports = ports;
  }

  /** Buckets there are, shared ones too. */
  get size(): number {
    return this.#own.size + this.#shared.size;
  }

  /** The bucket of a plugin and uid, if it has one of its own. */
  find(key: FloodKey): Bucket | undefined {
    return this.#own.get(keyOf(key));
  }

  /** The bucket that counts for a plugin and uid; of a plugin with an invalid name the shared one of its uid. */
  for(key: FloodKey, badName: boolean, policy: PluginPolicy): Bucket {
    if (badName) return this.#share('invalid-names', key.uid, policy);
    const text = keyOf(key);
    const known = this.#own.get(text);
    if (known !== undefined) return known;
    const hasRoom = this.#own.size < this.#ports.most() || this.#pinned.has(text) || this.#evict(this.#own);
    if (!hasRoom) return this.#share('others', key.uid, policy);
    const made = new Bucket('plugin', key, policy, this.#ports);
    this.#own.set(text, made);
    return made;
  }

  /** The plugin keeps a bucket of its own, whoever else comes. The number of pins is bounded by who sets them. */
  pin(key: FloodKey): void {
    const text = keyOf(key);
    this.#pinned.set(text, (this.#pinned.get(text) ?? 0) + 1);
  }

  /** Ends one pin; the last one counts. */
  unpin(key: FloodKey): void {
    const text = keyOf(key);
    const left = (this.#pinned.get(text) ?? 0) - 1;
    if (left > 0) this.#pinned.set(text, left);
    else this.#pinned.delete(text);
  }

  /** All of them, in no order that means anything. */
  *all(): IterableIterator<Bucket> {
    yield* this.#own.values();
    yield* this.#shared.values();
  }

  /** Closes all limiters. */
  close(): void {
    for (const bucket of this.all()) bucket.close();
    this.#own.clear();
    this.#shared.clear();
  }

  #share(kind: BucketKind, uid: number, policy: PluginPolicy): Bucket {
    const known = this.#shared.get(`${kind} ${String(uid)}`);
    if (known !== undefined) return known;
    const hasRoom = this.#shared.size < 2 * MAX_SHARING_UIDS || this.#evict(this.#shared);
    const sharer = hasRoom ? uid : ANY_UID;
    const shared =
      this.#shared.get(`${kind} ${String(sharer)}`) ??
      new Bucket(kind, { type: '', name: '', uid: sharer }, policy, this.#ports);
    this.#shared.set(`${kind} ${String(sharer)}`, shared);
    return shared;
  }

  #evict(buckets: Map<string, Bucket>): boolean {
    const nowMs = this.#ports.clock.mono();
    const evicted = makeRoom(buckets, (bucket, text) => !this.#pinned.has(text) && bucket.isForgettable(nowMs));
    evicted?.close();
    return evicted !== undefined;
  }
}

function keyOf({ type, name, uid }: FloodKey): string {
  return `${type}/${name} ${String(uid)}`;
}
