// Chooses the connection that gives way to a newcomer when no further one can be taken: an idle one of the largest holder; where
// an ordinary user has more than half of all of them, and a call on each, one of those. Pure.

/** An open connection, as far as it may give way: ConnectionGate (flood/connection-gate) makes it. */
export interface Yielding {
  /** No call is open, and none has begun. */
  isIdle(): boolean;
  /** A call of it was accepted once. */
  hasCalled(): boolean;
  /** Is closed for a newcomer. */
  giveWay(): void;
}

/** A process and its connections, oldest first. */
export interface Holder<Connection extends Yielding = Yielding> {
  readonly user: number;
  /** Of an ordinary user. */
  readonly isStranger: boolean;
  readonly open: number;
  readonly held: Iterable<Connection>;
}

/** Holders whose connections are looked at for one newcomer. */
const LOOKED_AT = 16;

/**
 * The connection that gives way to one of `newcomer`: of the process that holds most, of the user that holds most, the oldest
 * idle one that never called, else the oldest idle one. Else the newest of an ordinary user that has more than half of all:
 * calls that last cost it nothing, and keep everybody else out. Undefined: nobody holds so much more that it would be fair.
 */
export function whoGivesWay<C extends Yielding, H extends Holder<C>>(holders: Iterable<H>, newcomer: H): C | undefined {
  const byUser = new Map<number, number>();
  const all = [...holders];
  for (const { user, open } of all) byUser.set(user, (byUser.get(user) ?? 0) + open);
  const ofUser = ({ user }: H): number => byUser.get(user) ?? 0;
  const holdsMore = (one: H): boolean =>
    one.user === newcomer.user ? one.open > newcomer.open + 1 : ofUser(one) > ofUser(newcomer) + 1;
  const heaviest: H[] = [];
  for (const one of all) if (one !== newcomer && one.open > 0 && holdsMore(one)) insert(heaviest, one, ofUser);
  for (const { held } of heaviest) {
    const idle = [...held].filter((one) => one.isIdle());
    const found = idle.find((one) => !one.hasCalled()) ?? idle[0];
    if (found !== undefined) return found;
  }
  const [most] = heaviest;
  if (most === undefined || !most.isStranger || most.user === newcomer.user) return undefined;
  const open = all.reduce((sum, one) => sum + one.open, 0);
  return 2 * ofUser(most) > open ? [...most.held].at(-1) : undefined;
}

/**
 * Puts a holder among the heaviest, as many as are looked at, the first of equals first. Each of a crowd of processes that
 * connect has this done with all of them, so they are not sorted.
 */
function insert<H extends Holder>(heaviest: H[], one: H, ofUser: (holder: H) => number): void {
  const isHeavier = (other: H): boolean =>
    ofUser(one) === ofUser(other) ? one.open > other.open : ofUser(one) > ofUser(other);
  const lightest = heaviest.at(-1);
  if (heaviest.length === LOOKED_AT && lightest !== undefined && !isHeavier(lightest)) return;
  const before = heaviest.findIndex(isHeavier);
  heaviest.splice(before < 0 ? heaviest.length : before, 0, one);
  if (heaviest.length > LOOKED_AT) heaviest.pop();
}
