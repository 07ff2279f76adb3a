// Lists of devices that are kept decoded, because deciding about devices reads them again and again. Long ones are decoded
// one after the other, giving way to others, and in a part of the time: a plugin can make its lists as long, and change
// them as often, as it likes.
import { sleep, type Clock } from '../kernel/clock.js';
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

/** The newest list of each of some resources, decoded. */
export class DecodedLists {
  readonly #ports: DecodedListsPorts;
  readonly #known = new Map<string, Known>();
  /** Long lists that are waited for; a newer one takes the place of one that nobody began with. */
  readonly #wanted = new Map<string, { readonly raw: Buffer; readonly ready: Promise<unknown> }>();
  #line: Promise<void> = Promise.resolve();
  #devices = 0;
  #isSweeping = false;

  constructor(ports: DecodedListsPorts) {
    this.#ports = ports;
  }

  /**
   * The devices of a resource's list; decoded at once where they are not at hand (see {@link prepare}). In the place of a long
   * one that came after `prepare` was asked stands the one before: whoever hears of it looks again when it is at hand.
   */
  of(resource: string, raw: Buffer): readonly Device[] {
    const known = this.#known.get(resource);
    const isUsable = known?.raw === raw || raw.length > SHORT_BYTES;
    if (known === undefined || !isUsable) return this.#keep(resource, raw, this.#ports.decode(raw));
    known.usedAt = this.#ports.clock.mono();
    return known.devices;
  }

  /** Has a list at hand when it resolves, unless a newer one came meanwhile. Undefined: it is at hand, or short. Never rejects. */
  prepare(resource: string, raw: Buffer): Promise<void> | undefined {
    if (raw.length <= SHORT_BYTES || this.#known.get(resource)?.raw === raw) return undefined;
    const wanted = this.#wanted.get(resource);
    if (wanted?.raw === raw) return wanted.ready.then(() => undefined);
    const ready = this.#line.then(() => this.#decode(resource, raw));
    this.#wanted.set(resource, { raw, ready });
    this.#line = ready.then((tookMs) => (tookMs > 0 ? sleep(this.#ports.clock, tookMs * REST) : undefined));
    return ready.then(() => undefined);
  }

  /** Milliseconds that it took; 0 when there was nothing to do. */
  async #decode(resource: string, raw: Buffer): Promise<number> {
    if (this.#wanted.get(resource)?.raw !== raw) return 0;
    const { clock, decodeInTurns } = this.#ports;
    const startedAt = clock.mono();
    try {
      this.#keep(resource, raw, await decodeInTurns(raw));
    } catch {
      // Told by `of`, to whoever needs the list: the others behind it are made all the same.
    }
    if (this.#wanted.get(resource)?.raw === raw) this.#wanted.delete(resource);
    return Math.max(1, clock.mono() - startedAt);
  }

  #keep(resource: string, raw: Buffer, devices: readonly Device[]): readonly Device[] {
    this.#drop(resource);
    this.#known.set(resource, { raw, devices, usedAt: this.#ports.clock.mono() });
    this.#devices += devices.length;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size === 1 || (this.#known.size <= MOST_LISTS && this.#devices <= MOST_DEVICES)) break;
      this.#drop(oldest);
    }
    if (raw.length > SHORT_BYTES) this.#sweepLater();
    return devices;
  }

  #drop(resource: string): void {
    this.#devices -= this.#known.get(resource)?.devices.length ?? 0;
    this.#known.delete(resource);
  }

  #sweepLater(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#ports.clock.alarm(KEPT_MS, () => {
      this.#isSweeping = false;
      const before = this.#ports.clock.mono() - KEPT_MS;
      const long = [...this.#known].filter(([, { raw }]) => raw.length > SHORT_BYTES);
      for (const [resource, { usedAt }] of long) if (usedAt <= before) this.#drop(resource);
      if (long.some(([resource]) => this.#known.has(resource))) this.#sweepLater();
    });
  }
}
