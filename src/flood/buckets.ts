// All buckets of `register`, bounded: only full, strike-less ones are evicted, newcomers past the cap share one per uid,
// and plugins of the checkpoint keep theirs.
import { strangerUser, type UserFacts } from '../model/ids.js';
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
export interface BucketsPorts extends Pick<FloodPorts, 'openLimiter' | 'clock'>, UserFacts {
  /** `flood.maxBuckets`, shared and pinned ones aside. An ordinary user may have a quarter of them, all of them three quarters. */
  readonly most: () => number;
}

/** Finds the bucket of a plugin and uid, and makes it when there is none. */
export class Buckets {
  readonly #ports: BucketsPorts;
  readonly #own = new Map<string, Bucket>();
  readonly #shared = new Map<string, Bucket>();
  /** The ordinary user of each bucket as of when it was made, and the number of buckets of each such user. */
  readonly #strangers = new Map<Bucket, number>();
  readonly #ofUser = new Map<number, number>();
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
    const stranger = strangerUser(key.uid, this.#ports);
    if (!this.#pinned.has(text) && !this.#hasRoom(stranger)) return this.#share('others', key.uid, policy);
    const made = new Bucket('plugin', key, policy, this.#ports);
    this.#own.set(text, made);
    if (stranger !== undefined) this.#enter(made, stranger);
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
    this.#strangers.clear();
    this.#ofUser.clear();
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
  #hasRoom(stranger: number | undefined): boolean {
    const most = this.#ports.most();
    if (stranger !== undefined) {
      const share = Math.max(1, Math.floor(most / 4));
      if ((this.#ofUser.get(stranger) ?? 0) >= share)
        return this.#evict(this.#own, (one) => this.#strangers.get(one) === stranger);
      if (this.#strangers.size >= 3 * share) return this.#evict(this.#own, (one) => this.#strangers.has(one));
    }
    return this.#own.size < most || this.#evict(this.#own);
  }

  #evict(buckets: Map<string, Bucket>, isMeant: (bucket: Bucket) => boolean = () => true): boolean {
    const nowMs = this.#ports.clock.mono();
    const mayGo = (bucket: Bucket, text: string): boolean =>
      isMeant(bucket) && !this.#pinned.has(text) && bucket.isForgettable(nowMs);
    const evicted = makeRoom(buckets, mayGo);
    if (evicted === undefined) return false;
    this.#leave(evicted);
    evicted.close();
    return true;
  }

  #enter(bucket: Bucket, stranger: number): void {
    this.#strangers.set(bucket, stranger);
    this.#ofUser.set(stranger, (this.#ofUser.get(stranger) ?? 0) + 1);
  }

  #leave(bucket: Bucket): void {
    const stranger = this.#strangers.get(bucket);
    if (stranger === undefined) return;
    this.#strangers.delete(bucket);
    const left = (this.#ofUser.get(stranger) ?? 1) - 1;
    if (left > 0) this.#ofUser.set(stranger, left);
    else this.#ofUser.delete(stranger);
  }
}

function keyOf({ type, name, uid }: FloodKey): string {
  return `${type}/${name} ${String(uid)}`;
}
