// Changes that come together share one write, and each caller learns the fate of the write that holds its own change.
import { backoffMs } from '../kernel/backoff.js';
import type { Alarm } from '../kernel/clock.js';
import { Pace } from '../kernel/pace.js';
import type { Surroundings } from '../kernel/surroundings.js';

/** Whether a change is on the disk. `not-durable`: not yet; it is in memory and is tried again. */
export type Durability = 'durable' | 'not-durable';

/** Waits between attempts after a failed one. */
const RETRY = { firstMs: 250, maxMs: 5000 };
/**
 * Pause between writes in a crowd, so that each is shared by more. It saves the work of most writes. A lone caller never
 * waits: a crowd is when several shared a write a moment ago.
 */
const GATHER_MS = 5;
const CROWD_MS = 50;
/** How long a change that nobody waits for may wait for one that somebody waits for: the two share a write then. */
const COMPANY_MS = 20;
/**
 * Writes for which nobody waits: so many at once after a quiet time, then one in so long. Each is of the whole document, and 250
 * drivers whose facts change on and on, each within the pace of its own, would have one begin as soon as another ended.
 */
const ALONE_AT_ONCE = 16;
const ALONE_EVERY_MS = 1000;

/** The ports of a GroupCommit: CheckpointStore (checkpoint/store) does all of it. */
export interface CommitPorts extends Pick<Surroundings, 'clock' | 'random'> {
  /** Callers that wait from now on are answered after this many milliseconds, whatever the disk does. */
  readonly deadlineMs: () => number;
  /** Makes all changes up to now durable; so many wait for it. */
  readonly write: (waiters: number) => Promise<void>;
  /** Follows a successful write; the next one waits for it. Never rejects. */
  readonly afterwards: () => Promise<void>;
  /** The state changed: a sentence when changes are not on the disk, undefined when all are again. */
  readonly onFailure: (failure: string | undefined) => void;
  /** One attempt ended, after so many seconds. */
  readonly onAttempt: (result: 'ok' | 'failed', seconds: number) => void;
}

interface Group {
  readonly fate: Promise<Durability>;
  readonly settle: (fate: Durability) => void;
  waiters: number;
}

/** At most one write runs, and at most one group waits for the next. */
export class GroupCommit {
  readonly #ports: CommitPorts;
  /** Counts changes; a change is durable when #written has reached its number. */
  #changes = 0;
  #written = 0;
  /** The last change whose caller was told that it is not durable. */
  #owed = 0;
  #running: Group | undefined;
  #next: Group | undefined;
  #pause: Alarm | undefined;
  /** The present pause only gathers more changes, and ends when a caller waits for a write. */
  #pausesForCompany = false;
  readonly #alone = new Pace(ALONE_AT_ONCE * ALONE_EVERY_MS, 0);
  #endedAt = -Infinity;
  #crowdedUntil = -Infinity;
  #failure: string | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(ports: CommitPorts) {
    this.#ports = ports;
  }

  /** Whether a write has begun and not ended; one that hangs stays so. */
  get isWriting(): boolean {
    return this.#running !== undefined;
  }

  /** Whether somebody waits for the write after the present one. */
  get isAwaited(): boolean {
    return this.#next !== undefined;
  }

  /**
   * Counts one change that was just made. Resolves when it is on the disk, or with `not-durable` when the write that
   * holds it failed or took too long; while writes fail, at once. Never rejects.
   */
  save(): Promise<Durability> {
    this.#changes += 1;
    if (this.#isClosed) return Promise.resolve('not-durable');
    if (this.#failure !== undefined) {
      this.#owed = this.#changes;
      return Promise.resolve('not-durable');
    }
    const group = (this.#next ??= this.#newGroup(this.#ports.deadlineMs()));
    group.waiters += 1;
    this.#begin(true);
    return group.fate;
  }

  /** Counts a change that nobody waits for; it is written with the next ones, or by itself a moment later, a second in a crowd. */
  touch(): void {
    this.#changes += 1;
    if (this.#failure !== undefined) this.#owed = this.#changes;
    else if (!this.#isClosed) this.#begin(false);
  }

  /** Tries at once to make everything durable, also while writes fail. Never rejects. */
  flush(limitMs: number): Promise<Durability> {
    if (this.#isClosed) return Promise.resolve('not-durable');
    if (this.#written === this.#changes && this.#running === undefined) return Promise.resolve('durable');
    this.#pause?.cancel();
    this.#pause = undefined;
    const group = (this.#next ??= this.#newGroup(limitMs, this.#ports.deadlineMs()));
    if (this.#running === undefined) void this.#run();
    return group.fate;
  }

  /** Writes no more. A write that runs goes on by itself; waiting callers are told that their change is not durable. */
  close(): void {
    this.#isClosed = true;
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#running?.settle('not-durable');
    this.#next?.settle('not-durable');
    this.#next = undefined;
  }

  #begin(isAwaited: boolean): void {
    if (this.#running !== undefined) return;
    if (this.#pause !== undefined) {
      if (!isAwaited || !this.#pausesForCompany) return;
      this.#pause.cancel();
      this.#pause = undefined;
    }
    const now = this.#ports.clock.mono();
    const gatherMs = now < this.#crowdedUntil ? this.#endedAt + GATHER_MS - now : 0;
    const waitMs = isAwaited ? gatherMs : Math.max(COMPANY_MS, this.#alone.waitMs(ALONE_EVERY_MS, now));
    if (waitMs > 0) this.#runIn(waitMs, !isAwaited);
    else void this.#run();
  }

  #runIn(waitMs: number, forCompany = false): void {
    this.#pausesForCompany = forCompany;
    this.#pause = this.#ports.clock.alarm(waitMs, () => {
      this.#pause = undefined;
      void this.#run();
    });
  }

  /** @param toldMs the limit that a failure names: a disk that goes on failing is told once */
  #newGroup(limitMs: number, toldMs = limitMs): Group {
    const { promise, resolve } = withResolvers<Durability>();
    const deadline = this.#ports.clock.alarm(limitMs, () => this.#late(group, toldMs));
    const settle = (fate: Durability): void => {
      deadline.cancel();
      resolve(fate);
    };
    const group = { fate: promise, settle, waiters: 0 };
    return group;
  }

  #late(group: Group, toldMs: number): void {
    if (this.#next === group) this.#next = undefined;
    this.#fail(
      this.#changes,
      `it was not on the disk after ${toldMs} ms: the disk is slow, or the broker has too little processor time`,
    );
    group.settle('not-durable');
  }

  async #run(): Promise<void> {
    const { clock, write, afterwards, onAttempt } = this.#ports;
    const group = (this.#running = this.#next ?? this.#newGroup(this.#ports.deadlineMs()));
    this.#next = undefined;
    const changes = this.#changes;
    const startedAt = clock.mono();
    if (group.waiters === 0) this.#alone.book(ALONE_EVERY_MS, startedAt);
    let isWritten = false;
    try {
      await write(group.waiters);
      isWritten = true;
      this.#written = changes;
      this.#failures = 0;
    } catch (failure) {
      this.#failures += 1;
      this.#fail(changes, failure instanceof Error ? failure.message : String(failure));
    }
    onAttempt(isWritten ? 'ok' : 'failed', (clock.mono() - startedAt) / 1000);
    if (this.#failure !== undefined && this.#written >= this.#owed) this.#recover();
    group.settle(isWritten ? 'durable' : 'not-durable');
    if (isWritten) await afterwards();
    this.#running = undefined;
    this.#endedAt = clock.mono();
    if (group.waiters > 1) this.#crowdedUntil = this.#endedAt + CROWD_MS;
    this.#goOn(isWritten);
  }

  /** Callers that came while a write failed get an attempt of their own at once. */
  #goOn(isWritten: boolean): void {
    if (this.#isClosed || (this.#written === this.#changes && this.#next === undefined)) return;
    const { random } = this.#ports;
    if (this.#failure === undefined) this.#begin(this.#next !== undefined);
    else if (isWritten || this.#next !== undefined) void this.#run();
    else this.#runIn(backoffMs(this.#failures, RETRY, 0.5 + random.next() / 2));
  }

  #fail(owed: number, failure: string): void {
    this.#owed = Math.max(this.#owed, owed);
    const isNews = this.#failure !== failure;
    this.#failure = failure;
    if (isNews) this.#ports.onFailure(failure);
  }

  #recover(): void {
    this.#failure = undefined;
    this.#ports.onFailure(undefined);
  }
}

function withResolvers<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
