// Accounts of work by process and by ordinary user: how much of it is done at once, and how much later. Each has a bound.
import { Pace } from '../kernel/pace.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import { Entries } from './entries.js';

/** How often a piece of work is done. */
export interface PaceFigures {
  readonly intervalMs: number;
  /** Pieces at once after a pause. */
  readonly burst: number;
  /** Turns that are given ahead at most: of no process, and of no user, do more connections wait (flood.connections). */
  readonly ahead: number;
}

/** The pace of one process or user. */
class Account {
  readonly #intervalMs: number;
  readonly #pace: Pace;
  /** The longest wait for a turn. */
  readonly aheadMs: number;

  constructor({ intervalMs, burst, ahead }: PaceFigures) {
    this.#intervalMs = intervalMs;
    this.aheadMs = ahead * intervalMs;
    this.#pace = new Pace(burst * intervalMs, this.aheadMs);
  }

  /** Milliseconds to the next turn. */
  waitMs(now: number): number {
    return this.#pace.waitMs(this.#intervalMs, now);
  }

  /** Takes so many turns. @returns milliseconds until they come */
  book(count: number, now: number): number {
    return this.#pace.book(count * this.#intervalMs, now);
  }

  isFull(now: number): boolean {
    return this.#pace.isFull(now);
  }
}

/** The ports of paces. Root and the broker's own user are counted by process alone, and after refusals alone. */
export interface PacePorts extends UserFacts {
  /** Milliseconds on the monotonic scale. */
  readonly now: () => number;
  /** Whether the flood policy enforces: one that observes paces nobody. */
  readonly isEnforced: () => boolean;
}

/** The accounts of a process, where it is known, and of its user if that is an ordinary one. */
export type AccountsOf = (uid: number, process?: string) => readonly Account[];

/** Keeps accounts of these figures. */
export function accountsOf(
  figures: { readonly process: PaceFigures; readonly user: PaceFigures },
  ports: PacePorts,
): AccountsOf {
  const keeping = { isForgettable: (account: Account) => account.isFull(ports.now()) };
  const [processes, users] = [new Entries<Account>(keeping), new Entries<Account>(keeping)];
  return (uid, process) => {
    const user = strangerUser(uid, ports);
    return [
      ...(process === undefined ? [] : [processes.of(process, () => new Account(figures.process))]),
      ...(user === undefined ? [] : [users.of(String(user), () => new Account(figures.user))]),
    ];
  };
}
