// All buckets of `register`, bounded: only full, strike-less ones are evicted, newcomers past the cap share one per uid,
// and plugins of the checkpoint keep theirs.
import { isTrusted } from '../model/ids.js';
import type { PluginPolicy } from '../model/settings.js';
import { Bucket, type BucketKind } from './bucket.js';
import { makeRoom } from './make-room.js';
import type { FloodPorts } from './ports.js';
import type { FloodKey } from '../model/flood.js';

/** Uids that have shared buckets of their own; further ones share one bucket, so that no number of uids fills memory. */
const MAX_SHARING_UIDS = 256;
/** The uid of a bucket that belongs to no uid in particular. */
const ANY_UID = -1;

/** The ports of buckets. */
export interface BucketsPorts extends Pick<FloodPorts, 'openLimiter' | 'clock'> {
  /** The most there may be, shared and pinned ones aside. */
  readonly most: () => number;
  /** Uid of the broker. A user that is neither it nor root has a quarter of them, and all of those together three. */
  readonly ownUid: number;
}

/** Finds the bucket of a plugin and uid, and makes it when there is none. */
export class Buckets {
  readonly #ports: BucketsPorts;
  readonly #own = new Map<string, Bucket>();
  readonly #shared = new Map<string, Bucket>();
  /** How many each user has that is neither root nor the broker's, and all of them. */
  readonly #ofUid = new Map<number, number>();
  #strangers = 0;
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
    if (!this.#pinned.has(text) && !this.#hasRoom(key.uid)) return this.#share('others', key.uid, policy);
    const made = new Bucket('plugin', key, policy, this.#ports);
    this.#own.set(text, made);
    this.#count(key.uid, 1);
    return made;
  }

  /** The plugin keeps a bucket of its own, however many others come. Callers of this bound the number of pins. */
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

  /** A user whose share is full makes room by its own buckets alone, and so do all such users together. */
  #hasRoom(uid: number): boolean {
    const most = this.#ports.most();
    if (!isTrusted(uid, this.#ports.ownUid)) {
      const share = Math.max(1, Math.floor(most / 4));
      if ((this.#ofUid.get(uid) ?? 0) >= share) return this.#evict(this.#own, (one) => one.uid === uid);
      if (this.#strangers >= 3 * share) return this.#evict(this.#own, (one) => !isTrusted(one.uid, this.#ports.ownUid));
    }
    return this.#own.size < most || this.#evict(this.#own);
  }

  #evict(buckets: Map<string, Bucket>, isMeant: (bucket: Bucket) => boolean = () => true): boolean {
    const nowMs = this.#ports.clock.mono();
    const mayGo = (bucket: Bucket, text: string): boolean =>
      isMeant(bucket) && !this.#pinned.has(text) && bucket.isForgettable(nowMs);
    const evicted = makeRoom(buckets, mayGo);
    if (evicted?.kind === 'plugin') this.#count(evicted.uid, -1);
    evicted?.close();
    return evicted !== undefined;
  }

  #count(uid: number, by: 1 | -1): void {
    if (isTrusted(uid, this.#ports.ownUid)) return;
    const now = (this.#ofUid.get(uid) ?? 0) + by;
    if (now > 0) this.#ofUid.set(uid, now);
    else this.#ofUid.delete(uid);
    this.#strangers += by;
  }
}

function keyOf({ type, name, uid }: FloodKey): string {
  return `${type}/${name} ${String(uid)}`;
}
