// When no further connection can be taken, an idle one of whoever holds most gives way to a newcomer; where an ordinary user
// has more than half of all of them, and a call on each, one of those does. Pure.

/** An open connection, as far as it may give way. */
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
  readonly uid: number;
  readonly open: number;
  readonly held: Iterable<Connection>;
}

/** Holders whose connections are looked at for one newcomer. */
const LOOKED_AT = 16;

/**
 * The connection that gives way to one of `newcomer`: of the process that holds most, of the uid that holds most, the oldest
 * idle one that never called, else the oldest idle one. Else the newest of an ordinary user that has more than half of all:
 * calls that last cost it nothing, and keep everybody else out. Undefined: nobody holds so much more that it would be fair.
 */
export function whoGivesWay<C extends Yielding, H extends Holder<C>>(holders: Iterable<H>, newcomer: H): C | undefined {
  const byUid = new Map<number, number>();
  const all = [...holders];
  for (const { uid, open } of all) byUid.set(uid, (byUid.get(uid) ?? 0) + open);
  const ofUid = ({ uid }: H): number => byUid.get(uid) ?? 0;
  const holdsMore = (one: H): boolean =>
    one.uid === newcomer.uid ? one.open > newcomer.open + 1 : ofUid(one) > ofUid(newcomer) + 1;
  const heaviest = all
    .filter((one) => one !== newcomer && one.open > 0 && holdsMore(one))
    .sort((a, b) => (ofUid(b) === ofUid(a) ? b.open - a.open : ofUid(b) - ofUid(a)));
  for (const { held } of heaviest.slice(0, LOOKED_AT)) {
    const idle = [...held].filter((one) => one.isIdle());
    const found = idle.find((one) => !one.hasCalled()) ?? idle[0];
    if (found !== undefined) return found;
  }
  const [most] = heaviest;
  if (most === undefined || most.uid === 0 || most.uid === newcomer.uid) return undefined;
  const open = all.reduce((sum, one) => sum + one.open, 0);
  return 2 * ofUid(most) > open ? [...most.held].at(-1) : undefined;
}
