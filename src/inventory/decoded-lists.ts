// Lists of devices that are kept decoded, because deciding about devices reads them again and again. Long ones are decoded
// one after the other, giving way to others, and in a part of the time: a plugin can make its lists as long, and change
// them as often, as it likes. Those of ordinary users have a line and shares of the room of their own.
import type { Clock } from '../kernel/clock.js';
import { besideTrusted, FairRoom, TRUSTED } from '../kernel/fair-room.js';
import { restMs } from '../kernel/pace.js';
import type { Device } from '../model/device.js';

/**
 * Lists of root that are kept, and how many devices they may have together, and as many of all ordinary users; of the newest list
 * any number.
 */
const MOST_LISTS = 32;
const MOST_DEVICES = 262_144;
/** One ordinary user's lists have a quarter. */
const SHARES = 4;
/** Bytes of a list that is decoded whenever it is asked for: about a millisecond. */
const SHORT_BYTES = 64 * 1024;
/** A long list that nobody asked for so long is not kept. */
const KEPT_MS = 30_000;

/**
 * After a long list was decoded, so many times that long no other one is; after one of an ordinary user, whose tenth of the time it
 * is, no other one of such users.
 */
const REST = 3;
const STRANGERS_REST = 9;
/** Readers of lists, whoever they are, have no more of the time and of the room than an ordinary user. */
const READERS = -2;
/** One long list at a time, and beside it one of ordinary users, who take turns: one user may have many such lists. */
const AT_ONCE = besideTrusted({ trusted: 1, other: 1, others: 1 });

/**
 * How lists are read: the wire form of a list that was accepted before. `devicesOf` (platform/wire/list-decoder) decodes one at
 * once, `devicesInTurns` (platform/wire/list-decoder) in turns.
 */
export interface DecodedListsPorts {
  readonly decode: (raw: Buffer) => readonly Device[];
  /** The same, giving way to others. */
  readonly decodeInTurns: (raw: Buffer) => Promise<readonly Device[]>;
  readonly clock: Clock;
}

/** The ordinary user whose plugin sent a list; undefined: root, the broker's own user, or one whom a rule names. */
type Sender = number | undefined;

interface Known {
  readonly raw: Buffer;
  readonly devices: readonly Device[];
  readonly sender: Sender;
  usedAt: number;
}

/** A list that waits for its turn, or has it. */
interface Wanted {
  raw: Buffer;
  readonly sender: Sender;
  hasBegun: boolean;
  readonly ready: Promise<readonly Device[] | undefined>;
}

/** The newest list of each of some resources, decoded. */
export class DecodedLists {
  readonly #ports: DecodedListsPorts;
  readonly #known = new Map<string, Known>();
  /** Long lists that are waited for; a newer one takes the place of one that nobody began with. */
  readonly #wanted = new Map<string, Wanted>();
  readonly #turns = new FairRoom(AT_ONCE);
  #isSweeping = false;

  constructor(ports: DecodedListsPorts) {
    this.#ports = ports;
  }

  /**
   * The devices of a resource's list; decoded at once where they are not at hand (see {@link prepare}). A long list that came
   * after `prepare` was called is replaced by the one before: listeners look again when it is at hand.
   */
  of(resource: string, raw: Buffer, sender?: Sender): readonly Device[] {
    const known = this.#known.get(resource);
    const isUsable = known?.raw === raw || raw.length > SHORT_BYTES;
    if (known === undefined || !isUsable) return this.#keep(resource, raw, sender, this.#ports.decode(raw));
    known.usedAt = this.#ports.clock.mono();
    return known.devices;
  }

  /** Has a list, or a newer one, at hand when it resolves. Undefined: it is at hand, or short. Never rejects. */
  prepare(resource: string, raw: Buffer, sender?: Sender): Promise<void> | undefined {
    return this.#isAtHand(resource, raw) ? undefined : this.#made(resource, raw, sender).then(() => undefined);
  }

  /** The devices of a list, or of one that came since, for a reader; a long one is only ever decoded in its turn. */
  async read(resource: string, raw: Buffer): Promise<readonly Device[]> {
    const made = this.#isAtHand(resource, raw) ? undefined : await this.#made(resource, raw, READERS);
    // A failure to decode is reported by `of`.
    return made ?? this.of(resource, raw, READERS);
  }

  #isAtHand(resource: string, raw: Buffer): boolean {
    return raw.length <= SHORT_BYTES || this.#known.get(resource)?.raw === raw;
  }

  /** Decodes once for all callers that come before it has begun, the newest list that they know. */
  #made(resource: string, raw: Buffer, sender?: Sender): Promise<readonly Device[] | undefined> {
    const wanted = this.#wanted.get(resource);
    if (wanted !== undefined && wanted.sender === sender && (!wanted.hasBegun || wanted.raw === raw)) {
      wanted.raw = raw;
      return wanted.ready;
    }
    const next: Wanted = {
      raw,
      sender,
      hasBegun: false,
      ready: this.#inTurn(sender, () => this.#decode(resource, next)),
    };
    this.#wanted.set(resource, next);
    return next.ready;
  }

  async #inTurn<T>(sender: Sender, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#ports;
    const leave = await this.#turns.take(sender ?? TRUSTED);
    const startedAt = clock.mono();
    const done = await work();
    const rest = sender === undefined ? REST : STRANGERS_REST;
    clock.alarm(restMs(Math.max(1, clock.mono() - startedAt), rest), leave);
    return done;
  }

  /**
   * Undefined when decoding fails: `of` reports it to callers that need the list. Lists behind it are decoded all the same.
   */
  async #decode(resource: string, wanted: Wanted): Promise<readonly Device[] | undefined> {
    wanted.hasBegun = true;
    const { raw, sender } = wanted;
    try {
      return this.#keep(resource, raw, sender, await this.#ports.decodeInTurns(raw));
    } catch {
      return undefined;
    } finally {
      if (this.#wanted.get(resource) === wanted) this.#wanted.delete(resource);
    }
  }

  #keep(resource: string, raw: Buffer, sender: Sender, devices: readonly Device[]): readonly Device[] {
    this.#known.delete(resource);
    this.#known.set(resource, { raw, devices, sender, usedAt: this.#ports.clock.mono() });
    const known = [...this.#known];
    if (sender !== undefined)
      this.#forget(
        known.filter(([, one]) => one.sender === sender),
        SHARES,
      );
    // Those of root, and of users whom rules name, have room of their own.
    this.#forget(
      known.filter(([, one]) => (one.sender === undefined) === (sender === undefined)),
      1,
    );
    if (raw.length > SHORT_BYTES) this.#sweepLater();
    return devices;
  }

  /** Keeps of some lists, the first to go first, as many as have their share of the room; the newest one stays. */
  #forget(lists: readonly (readonly [resource: string, known: Known])[], shares: number): void {
    let left = lists.filter(([resource]) => this.#known.has(resource));
    const newest = [...this.#known.keys()].at(-1);
    let devices = left.reduce((sum, [, known]) => sum + known.devices.length, 0);
    for (const [resource, known] of left) {
      if (left.length <= MOST_LISTS / shares && devices <= MOST_DEVICES / shares) return;
      if (resource === newest) continue;
      this.#known.delete(resource);
      left = left.filter(([one]) => one !== resource);
      devices -= known.devices.length;
    }
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
