// The way out of `serve`: which callers may ask for it, and how long it may take.
import { sleep, type Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { StopBudgets } from '../../kernel/stop-budgets.js';
import type { InstanceLock } from '../store/held-lock.js';
import type { Holder } from '../store/lock-talk.js';
import { endInTime } from './ending.js';

/** Each release at the end is given this long, milliseconds: its disk may hang. */
export const LET_GO_MS = 300;
/** Calls of operators that are under way at the very end are given this long. */
const LAST_ANSWERS_MS = 1000;
/** Where a successor waits for the lock and a last write is under way, that write is looked at this often. */
const LOOK_MS = 20;
/** A successor that waits is answered for until it answers itself, at most this long. */
const LINGER_MS = 10_000;
/** A successor that lives takes the lock in milliseconds: one that has not at so many looks in a row, this far apart, has died. */
const SUCCESSOR_LOOK_MS = 1000;
const LOOKS_IN_VAIN = 2;

/** The part that is stopped: Daemon (daemon/daemon). */
export interface Stoppable {
  readonly standing: { view(): { readonly phase: string } };
  readonly store: { readonly isWriting: boolean };
  /** @throws Error naming the parts that did not end */
  stop(why: string, budgets: StopBudgets): Promise<void>;
  readonly broker: {
    /** Goes on answering operators, as things were, until a successor does or the signal aborts. Never rejects. */
    linger(limitMs: number, signal: AbortSignal): Promise<void>;
    /** Ends the last answers. */
    closeOperators(limitMs: number): Promise<void>;
  };
}

/** The ports of stopping. */
export interface StoppingPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Ours. */
  readonly pid: number;
  /** Whether a living process has the lock, after it was given up. */
  readonly isLockHeld: () => Promise<boolean>;
  /** Ends the process, with the lines of the log: `endAtOnce` (platform/process/ending). */
  readonly endNow: () => void;
}

/** The way out: once, by signal or by a successor; a second signal ends the process at once. */
export class Stopping {
  readonly #daemon: Stoppable;
  readonly #ports: StoppingPorts;
  readonly #begun = new AbortController();
  #budgets: StopBudgets | undefined;
  #isAwaited = false;
  #finish: (isClean: boolean) => void = () => undefined;
  /** Resolves when the daemon has stopped: whether that was in order. */
  readonly done: Promise<boolean>;

  constructor(daemon: Stoppable, ports: StoppingPorts) {
    this.#daemon = daemon;
    this.#ports = ports;
    this.done = new Promise((resolve) => (this.#finish = resolve));
  }

  /** A signal says that it is to end; a second one, at once. */
  readonly signalled = (signal: NodeJS.Signals): void => {
    if (this.signal.aborted) this.#ports.endNow();
    this.begin(signal);
  };

  /** Aborted when the stopping has begun. */
  get signal(): AbortSignal {
    return this.#begun.signal;
  }

  /** This process, for others that ask the lock. A successor that asks while we stop waits for us. */
  holder(): Holder {
    if (this.signal.aborted) this.#isAwaited = true;
    return { pid: this.#ports.pid, phase: this.#daemon.standing.view().phase };
  }

  /** A successor waits for our lock. */
  handOver(): void {
    if (!this.signal.aborted) this.#isAwaited = true;
    this.begin('a successor takes over');
  }

  /** Stops, once. @param why for the log and the events */
  begin(why: string): void {
    if (this.signal.aborted) return;
    this.#begun.abort();
    const { clock, log, endNow } = this.#ports;
    const budgets = (this.#budgets = new StopBudgets(clock));
    endInTime(clock, budgets, () => {
      log.error('broker.unclean-end', 'the broker did not end in time, and ends with 1 where it is');
      endNow();
    });
    this.#daemon.stop(why, budgets).then(
      () => this.#finish(true),
      () => this.#finish(false),
    );
  }

  /** Milliseconds for a last step. */
  endMs(atMost: number): number {
    return this.#budgets?.endMs(atMost) ?? atMost;
  }

  /** Gives the lock up, and goes on answering operators until a successor that waits does. */
  async leave(lock: InstanceLock): Promise<void> {
    const isReleased = await this.#letGo(lock);
    // A successor that waits for a lock which only our end gives up would answer nobody before it.
    if (isReleased && this.#isAwaited) await this.#linger();
    await this.#daemon.broker.closeOperators(this.endMs(LAST_ANSWERS_MS));
  }

  /** Answers operators for a successor, but not for one that has died: whoever starts the next one may wait for our end. */
  async #linger(): Promise<void> {
    const over = new AbortController();
    this.#untilNobodyComes(over.signal).then(
      () => over.abort(),
      () => undefined,
    );
    await this.#daemon.broker.linger(this.#budgets?.lingerMs(LINGER_MS) ?? 0, over.signal);
    over.abort();
  }

  async #untilNobodyComes(signal: AbortSignal): Promise<void> {
    const { clock, isLockHeld } = this.#ports;
    for (let inVain = 0; inVain < LOOKS_IN_VAIN;) {
      await sleep(clock, SUCCESSOR_LOOK_MS, signal);
      inVain = (await isLockHeld()) ? 0 : inVain + 1;
    }
  }

  /** Releases the lock; false where it is left to the end of the process, because a write that hangs may still land. */
  async #letGo(lock: InstanceLock): Promise<boolean> {
    const { store } = this.#daemon;
    const { clock } = this.#ports;
    const mayWait = (): boolean => this.#isAwaited && (this.#budgets?.endMs() ?? 0) > LAST_ANSWERS_MS;
    while (store.isWriting && mayWait()) await sleep(clock, LOOK_MS);
    if (store.isWriting) return false;
    const released = lock.release().then(() => true);
    const limitMs = this.#isAwaited ? LAST_ANSWERS_MS : LET_GO_MS;
    return Promise.race([released, sleep(clock, this.endMs(limitMs)).then(() => false)]);
  }
}
