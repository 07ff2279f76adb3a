// Accounts of work by process and by ordinary user: how much of it is done at once, and how much later. Each has a bound.
import { Turns, type TurnFigures } from '../kernel/pace.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import { Entries } from './entries.js';

/** The ports of paces. Root and the broker's own user are counted by process alone, and after refusals alone. */
export interface PacePorts extends UserFacts {
  /** Milliseconds on the monotonic scale. */
  readonly now: () => number;
  /** Whether the flood policy enforces: one that observes paces nobody. */
  readonly isEnforced: () => boolean;
}

/** The accounts of a process, where it is known, and of its user if that is an ordinary one. */
export type AccountsOf = (uid: number, process?: string) => readonly Turns[];

/** Keeps accounts of these figures. */
export function accountsOf(
  figures: { readonly process: TurnFigures; readonly user: TurnFigures },
  ports: PacePorts,
): AccountsOf {
  const keeping = { isForgettable: (account: Turns) => account.isFull(ports.now()) };
  const [processes, users] = [new Entries<Turns>(keeping), new Entries<Turns>(keeping)];
  return (uid, process) => {
    const user = strangerUser(uid, ports);
    return [
      ...(process === undefined ? [] : [processes.of(process, () => new Turns(figures.process))]),
      ...(user === undefined ? [] : [users.of(String(user), () => new Turns(figures.user))]),
    ];
  };
}
