// Desired state: what sockets on disk and known plugins ask for. Every wish is worked on at once, tried again with
// jittered backoff, and given up the moment it is not wanted any more. There is no timer that walks over everything.
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { asError, type Alarm, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Random } from '../kernel/random.js';

/**
 * What an attempt came to: settled, or again (after at least so long). `keptOut`: the plugin (`type/name`) whose quarantine
 * is waited for, so that `hurry` finds the wish when that ends early.
 */
export type Attempt =
  { readonly done: true } | { readonly done: false; readonly atLeastMs?: number; readonly keptOut?: string };

/** Something that is to become true. */
export interface Wish {
  /** What it is about: a socket path or an instance id. */
  readonly key: string;
  /** Which life of it: another one is another wish, with fresh backoff. */
  readonly incarnation: string;
  /** One try. A rejection counts as "again". */
  readonly attempt: (signal: AbortSignal, failures: number) => Promise<Attempt>;
  /** Called when the wish is dropped, by being settled, replaced or withdrawn. */
  readonly dropped?: () => void;
}

/** Why the signal of an attempt aborts: its wish was dropped, so that nobody asks any more what comes of it. */
export class WishDropped extends Error {}

interface Entry {
  readonly wish: Wish;
  readonly halt: AbortController;
  failures: number;
  alarm: Alarm | undefined;
  keptOut: string | undefined;
}

/** What the reconciler needs. */
export interface ReconcilerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly backoff: () => BackoffBounds;
}

/** Works on wishes: one attempt at a time per key. */
export class Reconciler {
  readonly #ports: ReconcilerPorts;
  readonly #entries = new Map<string, Entry>();
  #stopped = false;

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
  }

  /** Wishes that are not settled. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether this very wish is being worked on. */
  has(key: string, incarnation: string): boolean {
    return this.#entries.get(key)?.wish.incarnation === incarnation;
  }

  /**
   * Wants something, at once or after `delayMs`. The same incarnation twice is one wish, and keeps its backoff;
   * another incarnation takes the place of the old one.
   */
  want(wish: Wish, delayMs = 0, failures = 0): void {
    if (this.#stopped) {
      wish.dropped?.();
      return;
    }
    const before = this.#entries.get(wish.key);
    if (before !== undefined) {
      if (before.wish.incarnation === wish.incarnation) {
        wish.dropped?.();
        return;
      }
      this.#drop(before, 'another incarnation took its place');
    }
    const entry: Entry = { wish, halt: new AbortController(), failures, alarm: undefined, keptOut: undefined };
    this.#entries.set(wish.key, entry);
    if (delayMs <= 0) this.#run(entry);
    else entry.alarm = this.#ports.clock.alarm(delayMs, () => this.#run(entry));
  }

  /** Gives a wish up; with `incarnation` only if it is about that life. */
  unwant(key: string, incarnation?: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || (incarnation !== undefined && entry.wish.incarnation !== incarnation)) return;
    this.#drop(entry, 'not wanted any more');
  }

  /**
   * Tries at once, with fresh backoff, what waits for the end of a plugin's quarantine. Nothing happens to what runs or
   * waits for something else.
   *
   * @param plugin as `keptOut` of an attempt names it
   */
  hurry(plugin: string): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.keptOut !== plugin || entry.halt.signal.aborted) continue;
      entry.alarm?.cancel();
      entry.failures = 0;
      this.#run(entry);
    }
  }

  /** Gives all wishes up. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) this.#drop(entry, 'the broker is stopping');
  }

  #run(entry: Entry): void {
    entry.alarm = undefined;
    entry.keptOut = undefined;
    entry.wish.attempt(entry.halt.signal, entry.failures).then(
      (result) => this.#settled(entry, result),
      (failure: unknown) => {
        if (!entry.halt.signal.aborted) {
          this.#ports.log.debug('reconcile.attempt-failed', asError(failure).message, { key: entry.wish.key });
        }
        this.#settled(entry, { done: false });
      },
    );
  }

  #settled(entry: Entry, result: Attempt): void {
    if (entry.halt.signal.aborted) return;
    if (result.done) {
      this.#entries.delete(entry.wish.key);
      entry.wish.dropped?.();
      return;
    }
    entry.failures += 1;
    entry.keptOut = result.keptOut;
    const { clock, random, backoff } = this.#ports;
    const wait = Math.max(backoffMs(entry.failures, backoff(), random.next()), result.atLeastMs ?? 0);
    entry.alarm = clock.alarm(wait, () => this.#run(entry));
  }

  #drop(entry: Entry, why: string): void {
    entry.alarm?.cancel();
    if (this.#entries.get(entry.wish.key) === entry) this.#entries.delete(entry.wish.key);
    entry.halt.abort(new WishDropped(why));
    entry.wish.dropped?.();
  }
}
