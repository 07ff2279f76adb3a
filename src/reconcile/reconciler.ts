// Desired state: the registrations that sockets on disk and known plugins ask for. Every pending registration is worked on at
// once, tried again with jittered backoff, and given up the moment it is not wanted any more. There is no timer that walks over
// everything.
import type { Attempt } from '../model/registration.js';
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { asError, type Alarm } from '../kernel/clock.js';
import type { Surroundings } from '../kernel/surroundings.js';

/** Something that is to become true. */
export interface PendingRegistration {
  /** Its subject: a registration socket, by incarnation, or an instance id. */
  readonly key: string;
  /** Which life of it: another one is another pending registration, with fresh backoff. */
  readonly incarnation: string;
  /**
   * One try; a rejection counts as "again". RegistrySockets has a socket's plugin asked (`WatcherDoor.attempt`,
   * registration/watcher-door); Lifecycle pulls a lost instance or a fallback, Restart the successor at the path of a restored
   * one, and QuarantineResponse the endpoint named last (`Enrolments.enrol`, reconcile/enrolment).
   */
  readonly attempt: (signal: AbortSignal, failures: number) => Promise<Attempt>;
  /** Called when it is settled, replaced or withdrawn: RegistrySockets (reconcile/registry-sockets) lets its socket go. */
  readonly dropped?: () => void;
}

/**
 * The reason with which the signal of an attempt aborts: its pending registration was dropped, so that nobody waits for the
 * outcome.
 */
export class PendingDropped extends Error {}

interface Entry {
  readonly pending: PendingRegistration;
  readonly halt: AbortController;
  failures: number;
  alarm: Alarm | undefined;
  /** When the next attempt begins, or when it was wanted again while one runs; monotonic milliseconds. */
  nextAt: number | undefined;
  /** Failures it begins with when it was wanted again while an attempt runs. */
  nextFailures: number;
  keptOut: string | undefined;
}

/** The ports of the reconciler. */
export interface ReconcilerPorts extends Omit<Surroundings, 'metrics'> {
  readonly backoff: BackoffBounds;
}

/** Works on pending registrations: one attempt at a time per key. */
export class Reconciler {
  readonly #ports: ReconcilerPorts;
  readonly #entries = new Map<string, Entry>();
  #stopped = false;

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
  }

  /** Pending registrations that are not settled. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether this very pending registration is being worked on. */
  has(key: string, incarnation: string): boolean {
    return this.#entries.get(key)?.pending.incarnation === incarnation;
  }

  /**
   * Wants a registration, at once or after `delayMs`. The same incarnation twice is one pending registration, which is worked on
   * at the earlier of the two times, and once more when it is wanted again during its last attempt: its cause may have come after
   * that attempt had looked. Another incarnation takes the place of the old one.
   */
  want(pending: PendingRegistration, delayMs = 0, failures = 0): void {
    if (this.#stopped) {
      pending.dropped?.();
      return;
    }
    const before = this.#entries.get(pending.key);
    if (before !== undefined) {
      if (before.pending.incarnation === pending.incarnation) {
        pending.dropped?.();
        this.#again(before, delayMs, failures);
        return;
      }
      this.#drop(before, 'another incarnation took its place');
    }
    const halt = new AbortController();
    const asleep = { alarm: undefined, nextAt: undefined, nextFailures: 0, keptOut: undefined };
    const entry: Entry = { pending, halt, failures, ...asleep };
    this.#entries.set(pending.key, entry);
    if (delayMs <= 0) this.#run(entry);
    else this.#sleep(entry, delayMs);
  }

  /** Gives a pending registration up; with `incarnation` only if it is about that life. */
  unwant(key: string, incarnation?: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || (incarnation !== undefined && entry.pending.incarnation !== incarnation)) return;
    this.#drop(entry, 'not wanted any more');
  }

  /** Drops a pending registration that sleeps until its next attempt: its goal was reached by itself. */
  unwantAsleep(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.alarm !== undefined) this.#drop(entry, 'it came true by itself');
  }

  /**
   * Tries pending registrations that wait for the end of a plugin's quarantine at once, with fresh backoff. Those that run or
   * wait for something else stay.
   *
   * @param plugin as `keptOut` of an attempt names it
   */
  retryNow(plugin: string): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.keptOut !== plugin || entry.halt.signal.aborted) continue;
      entry.alarm?.cancel();
      entry.failures = 0;
      this.#run(entry);
    }
  }

  /** Gives all pending registrations up. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) this.#drop(entry, 'the broker is stopping');
  }

  /** Wanted again: a sleeping pending registration wakes at the earlier time, a running attempt is followed by another. */
  #again(entry: Entry, delayMs: number, failures: number): void {
    const at = this.#ports.clock.mono() + Math.max(0, delayMs);
    if (entry.nextAt !== undefined && entry.nextAt <= at) return;
    if (entry.alarm === undefined) {
      entry.nextAt = at;
      entry.nextFailures = failures;
      return;
    }
    entry.alarm.cancel();
    entry.failures = failures;
    if (delayMs <= 0) this.#run(entry);
    else this.#sleep(entry, delayMs);
  }

  #sleep(entry: Entry, delayMs: number): void {
    const { clock } = this.#ports;
    entry.nextAt = clock.mono() + delayMs;
    entry.alarm = clock.alarm(delayMs, () => this.#run(entry));
  }

  #run(entry: Entry): void {
    entry.alarm = undefined;
    entry.nextAt = undefined;
    entry.keptOut = undefined;
    entry.pending.attempt(entry.halt.signal, entry.failures).then(
      (result) => this.#settled(entry, result),
      (failure: unknown) => {
        if (!entry.halt.signal.aborted) {
          this.#ports.log.debug('reconcile.attempt-failed', asError(failure).message, { key: entry.pending.key });
        }
        this.#settled(entry, { done: false });
      },
    );
  }

  #settled(entry: Entry, result: Attempt): void {
    if (entry.halt.signal.aborted) return;
    const { clock, random, backoff } = this.#ports;
    const askedInMs = entry.nextAt === undefined ? undefined : Math.max(0, entry.nextAt - clock.mono());
    if (result.done) {
      if (askedInMs !== undefined) {
        entry.failures = entry.nextFailures;
        this.#sleep(entry, askedInMs);
        return;
      }
      this.#entries.delete(entry.pending.key);
      entry.pending.dropped?.();
      return;
    }
    entry.failures += 1;
    entry.keptOut = result.keptOut;
    const waitMs = Math.min(backoffMs(entry.failures, backoff, random.next()), askedInMs ?? Infinity);
    this.#sleep(entry, Math.max(waitMs, result.atLeastMs ?? 0));
  }

  #drop(entry: Entry, why: string): void {
    entry.alarm?.cancel();
    if (this.#entries.get(entry.pending.key) === entry) this.#entries.delete(entry.pending.key);
    entry.halt.abort(new PendingDropped(why));
    entry.pending.dropped?.();
  }
}
