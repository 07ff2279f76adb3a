// Lists of devices that are kept decoded, because deciding about devices reads them again and again. Long ones are decoded
// one after the other, giving way to others, and in a part of the time: a plugin can make its lists as long, and change
// them as often, as it likes.
import { sleep, type Clock } from '../kernel/clock.js';
import { restMs } from '../kernel/pace.js';
import type { Device } from '../model/device.js';

/** Lists that are kept, and how many devices they may have together; of the newest list any number. */
const MOST_LISTS = 32;
const MOST_DEVICES = 262_144;
/** Bytes of a list that is decoded whenever it is asked for: about a millisecond. */
const SHORT_BYTES = 64 * 1024;
/** After a long list was decoded, so many times that long no other one is. */
const REST = 3;
/** A long list that nobody asked for so long is not kept. */
const KEPT_MS = 30_000;

/** How lists are read: the wire form of a list that was accepted before. */
export interface DecodedListsPorts {
  readonly decode: (raw: Buffer) => readonly Device[];
  /** The same, giving way to others. */
  readonly decodeInTurns: (raw: Buffer) => Promise<readonly Device[]>;
  readonly clock: Clock;
}

interface Known {
  readonly raw: Buffer;
  readonly devices: readonly Device[];
  usedAt: number;
}

/** A list that waits for its turn, or has it. */
interface Wanted {
  raw: Buffer;
  hasBegun: boolean;
  readonly ready: Promise<readonly Device[] | undefined>;
  /** Milliseconds that it took, once it is ready. */
  tookMs: number;
}

/** The newest list of each of some resources, decoded. */
export class DecodedLists {
  readonly #ports: DecodedListsPorts;
  readonly #known = new Map<string, Known>();
  /** Long lists that are waited for; a newer one takes the place of one that nobody began with. */
  readonly #wanted = new Map<string, Wanted>();
  #line: Promise<void> = Promise.resolve();
  #isSweeping = false;

  constructor(ports: DecodedListsPorts) {
    this.#ports = ports;
  }

  /**
   * The devices of a resource's list; decoded at once where they are not at hand (see {@link prepare}). A long list that came
   * after `prepare` was called is replaced by the one before: listeners look again when it is at hand.
   */
  of(resource: string, raw: Buffer): readonly Device[] {
    const known = this.#known.get(resource);
    const isUsable = known?.raw === raw || raw.length > SHORT_BYTES;
    if (known === undefined || !isUsable) return this.#keep(resource, raw, this.#ports.decode(raw));
    known.usedAt = this.#ports.clock.mono();
    return known.devices;
  }

  /** Has a list, or a newer one, at hand when it resolves. Undefined: it is at hand, or short. Never rejects. */
  prepare(resource: string, raw: Buffer): Promise<void> | undefined {
    return this.#isAtHand(resource, raw) ? undefined : this.#made(resource, raw).then(() => undefined);
  }

  /** The devices of a list, or of one that came since; a long one is only ever decoded in its turn. */
  async read(resource: string, raw: Buffer): Promise<readonly Device[]> {
    // A failure to decode is reported by `of`.
    return (this.#isAtHand(resource, raw) ? undefined : await this.#made(resource, raw)) ?? this.of(resource, raw);
  }

  #isAtHand(resource: string, raw: Buffer): boolean {
    return raw.length <= SHORT_BYTES || this.#known.get(resource)?.raw === raw;
  }

  /** Decodes once for all callers that come before it has begun, the newest list that they know. */
  #made(resource: string, raw: Buffer): Promise<readonly Device[] | undefined> {
    const wanted = this.#wanted.get(resource);
    if (wanted !== undefined && (!wanted.hasBegun || wanted.raw === raw)) {
      wanted.raw = raw;
      return wanted.ready;
    }
    const ready = this.#line.then(() => this.#decode(resource, next));
    const next: Wanted = { raw, hasBegun: false, ready, tookMs: 1 };
    this.#wanted.set(resource, next);
    this.#line = ready.then(() => sleep(this.#ports.clock, restMs(next.tookMs, REST)));
    return ready;
  }

  /**
   * Undefined when decoding fails: `of` reports it to callers that need the list. Lists behind it are decoded all the same.
   */
  async #decode(resource: string, wanted: Wanted): Promise<readonly Device[] | undefined> {
    wanted.hasBegun = true;
    const { raw } = wanted;
    const { clock, decodeInTurns } = this.#ports;
    const startedAt = clock.mono();
    try {
      return this.#keep(resource, raw, await decodeInTurns(raw));
    } catch {
      return undefined;
    } finally {
      wanted.tookMs = Math.max(1, clock.mono() - startedAt);
      if (this.#wanted.get(resource) === wanted) this.#wanted.delete(resource);
    }
  }

  #keep(resource: string, raw: Buffer, devices: readonly Device[]): readonly Device[] {
    this.#known.delete(resource);
    this.#known.set(resource, { raw, devices, usedAt: this.#ports.clock.mono() });
    let all = 0;
    for (const known of this.#known.values()) all += known.devices.length;
    for (const [oldest, known] of this.#known) {
      if (this.#known.size === 1 || (this.#known.size <= MOST_LISTS && all <= MOST_DEVICES)) break;
      this.#known.delete(oldest);
      all -= known.devices.length;
    }
    if (raw.length > SHORT_BYTES) this.#sweepLater();
    return devices;
  }

  #sweepLater(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#ports.clock.alarm(KEPT_MS, () => {
      this.#isSweeping = false;
      const before = this.#ports.clock.mono() - KEPT_MS;
      const long = [...this.#known].filter(([, { raw }]) => raw.length > SHORT_BYTES);
      for (const [resource, { usedAt }] of long) if (usedAt <= before) this.#known.delete(resource);
      if (long.some(([resource]) => this.#known.has(resource))) this.#sweepLater();
    });
  }
}
