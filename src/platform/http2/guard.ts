// Counts a peer's frames against its budgets. Pure: the time comes in with each count.
import type { ConnectionEndCode } from '../../model/connection-ends.js';
import type { GuardSettings } from '../../model/settings.js';
import { PeerFault } from './fault.js';

interface KindSpec {
  readonly code: ConnectionEndCode;
  readonly what: string;
  readonly budget: (settings: GuardSettings) => number;
  /** How many more are allowed for each completed call, and for each unit of data. */
  readonly perCall: number;
  readonly perData: number;
}

/**
 * A library that measures bandwidth sends a PING and a WINDOW_UPDATE for each piece of data it receives (grpc-go, grpcio), and up
 * to two WINDOW_UPDATE frames more for the bytes it took; nothing earns SETTINGS, empty frames or messages. Resets are earned by
 * completed calls alone: a client that cancels as many calls as it completes is careless, not hostile.
 */
const KINDS = {
  frames: kind('FRAME_FLOOD', 'frames', (s) => s.frames, 16, 8),
  settings: kind('SETTINGS_FLOOD', 'SETTINGS frames', (s) => s.settings, 0, 0),
  pings: kind('PING_FLOOD', 'PING frames', (s) => s.pings, 2, 1),
  resets: kind('RAPID_RESET', 'resets of its own calls', (s) => s.resets, 1, 0),
  answeredResets: kind('MADE_YOU_RESET', 'calls that had to be reset', (s) => s.resets, 1, 0),
  emptyFrames: kind('EMPTY_FRAMES', 'frames without content', (s) => s.emptyFrames, 0, 0),
  messages: kind('EMPTY_FRAMES', 'messages beyond the first of a call', (s) => s.emptyFrames, 0, 0),
  windowUpdates: kind('WINDOW_GAME', 'WINDOW_UPDATE frames', (s) => s.windowUpdates, 4, 4),
  priorities: kind('PRIORITY_FLOOD', 'PRIORITY frames', (s) => s.priorities, 1, 0),
  informational: kind('HEADERS_FLOOD', 'informational header blocks', (s) => s.informational, 0, 0),
  strayBlocks: kind('HEADERS_FLOOD', 'header blocks that belong to no call', () => STRAY_BLOCKS, 0, 0),
} as const;

/**
 * The counted kinds. `answeredResets` are the calls that the server reset because of the peer's bytes, `messages` those of a
 * request after its first: hardly any method takes one, and each may be five octets.
 */
export type GuardKind = keyof typeof KINDS;

/**
 * Header blocks of a caller that open no call and are no trailers. No client of gRPC sends any; each is decoded twice, half a
 * millisecond if it is full, and takes no turn.
 */
const STRAY_BLOCKS = 4;

function kind(
  code: ConnectionEndCode,
  what: string,
  budget: (settings: GuardSettings) => number,
  perCall: number,
  perData: number,
): KindSpec {
  return { code, what, budget, perCall, perData };
}

/** Octets received that count as one unit of data, or, of no call, as a frame; less than any PING or WINDOW_UPDATE is worth. */
const DATA_UNIT_BYTES = 1024;
/** Frames that the begin of a connection, and of its first calls, takes before any is completed. */
const FREE_FRAMES = 32;
/** The same of reads, because a user has hundreds of connections: its preface and SETTINGS, their acknowledgement, and a call. */
const FREE_READS = 3;
/** Reads that a completed call takes: its request, and what a library says of its answer. */
const READS_PER_CALL = 4;
/** Reads that are kept for later: a user has hundreds of connections, and could save them for one moment. */
const MOST_READS_SAVED = 64;
/** A read takes the time of so many frames, where many connections are read and each gathers a hundred small pieces meanwhile. */
const FRAMES_PER_READ = 6;
/** Reads that a DATA frame of ours causes at most: its WINDOW_UPDATE frames, and a PING. */
const READS_PER_ANSWER = 2;
/** A DATA frame of ours with fewer octets earns nothing: the peer's window may have cut it so small. */
const SMALLEST_ANSWER_BYTES = 32;

interface Counts {
  calls: number;
  data: number;
  readonly seen: Record<GuardKind, number>;
}

const NONE_SEEN = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, 0])) as Record<GuardKind, number>;

function nothing(): Counts {
  return { calls: 0, data: 0, seen: { ...NONE_SEEN } };
}

/** The budgets of one connection, in fixed windows. Earned budget counts for the window after it too. */
export class Guard {
  readonly #settings: GuardSettings;
  #windowEnd: number;
  #now: Counts = nothing();
  /** How many frames more the peer's work pays for; less than none: it owes them. */
  #credit = FREE_FRAMES;
  /** The same of reads. Octets that a peer only announces are no work: of a request those of a read count. */
  #reads = FREE_READS;
  #before: Counts = nothing();

  /** @param now milliseconds on the monotonic scale */
  constructor(settings: GuardSettings, now: number) {
    this.#settings = settings;
    this.#windowEnd = now + settings.windowMs;
  }

  /** Tells the time; once for each piece of bytes is enough. */
  tell(now: number): void {
    if (now < this.#windowEnd) return;
    this.#before = now < this.#windowEnd + this.#settings.windowMs ? this.#now : nothing();
    this.#now = nothing();
    this.#windowEnd = now + this.#settings.windowMs;
  }

  /** Counts one, or its cost. @throws PeerFault with the code of the kind when that exceeds the budget and the earned one */
  count(kind: GuardKind, cost = 1): void {
    const { code, what, budget, perCall, perData } = KINDS[kind];
    const seen = (this.#now.seen[kind] += cost);
    if (kind === 'frames') this.#credit -= cost;
    const base = budget(this.#settings);
    if (seen <= base) return;
    const calls = this.#now.calls + this.#before.calls;
    const data = this.#now.data + this.#before.data;
    const allowed = Math.floor(base + calls * perCall + data * perData);
    if (seen <= allowed) return;
    const within = `${this.#settings.windowMs / 1000} s`;
    throw new PeerFault(code, `the peer sent ${seen} ${what} within ${within} where its work allows ${allowed}`);
  }

  /** So many octets of the peer were read. However few they are, that takes time of ours: those that bring little owe. */
  read(bytes: number): void {
    this.#earnReads(bytes / DATA_UNIT_BYTES - 1);
  }

  /** The peer sent a frame of so many octets that belongs to no call: no window holds those back. @throws PeerFault */
  strayPayload(bytes: number): void {
    this.count('frames', Math.floor(bytes / DATA_UNIT_BYTES));
  }

  /** A call was completed on both sides. */
  callCompleted(): void {
    this.#now.calls++;
    this.#earn(KINDS.frames.perCall);
    this.#earnReads(READS_PER_CALL);
  }

  /** The peer sent that much of a request that nobody has begun to answer. */
  dataReceived(bytes: number): void {
    this.#now.data += bytes / DATA_UNIT_BYTES;
    this.#earn((bytes / DATA_UNIT_BYTES) * KINDS.frames.perData);
  }

  /** We sent a DATA frame of that size. */
  dataSent(bytes: number): void {
    if (bytes < SMALLEST_ANSWER_BYTES) return;
    this.#now.data++;
    this.#earn(KINDS.frames.perData);
    this.#earnReads(READS_PER_ANSWER);
  }

  /** Frames, and reads as so many frames, that neither a connection's begin nor its work pays for, since this was last asked; they count as paid then. */
  takeUnearned(): number {
    const owed = Math.ceil(Math.max(0, -this.#credit) + FRAMES_PER_READ * Math.max(0, -this.#reads));
    this.#credit = Math.max(0, this.#credit);
    this.#reads = Math.max(0, this.#reads);
    return owed;
  }

  #earnReads(reads: number): void {
    this.#reads = Math.min(MOST_READS_SAVED, this.#reads + reads);
  }

  #earn(frames: number): void {
    this.#credit = Math.min(this.#settings.frames, this.#credit + frames);
  }
}
