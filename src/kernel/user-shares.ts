// Places that the users of this machine share, of which nobody waits for one: an ordinary user has at most a quarter of them, and all
// ordinary users together at most three quarters, so that root finds a quarter. Where newcomers wait it is FairRoom (kernel/fair-room).

/**
 * In whose share a place counts: an ordinary user's, by the number that `strangerUser` (model/ids) gives, or the one share of all whose
 * user is unknown; undefined: it is of root or of the broker's own user, or users are not told apart at all, and there is no share but
 * all of it.
 */
export type Sharer = number | 'unknown' | undefined;

/** The share that keeps a newcomer out. */
export interface FullShare {
  /** Its places, all of which are taken. */
  readonly places: number;
  /** `own`: of the newcomer; `ordinary`: of all ordinary users; `all`: there are no more. */
  readonly of: 'own' | 'ordinary' | 'all';
  /** Whether a place of this one is among them. */
  readonly has: (holder: Sharer) => boolean;
}

/** A quarter, in whole places. */
export function quarterOf(places: number): number {
  return Math.floor(places / 4);
}

/**
 * What keeps a newcomer out.
 *
 * @param holders who has the taken places, one for each of them
 * @param places how many there are
 * @returns undefined where there is a place for it
 */
export function fullShareFor(newcomer: Sharer, holders: Iterable<Sharer>, places: number): FullShare | undefined {
  let [all, ordinary, own] = [0, 0, 0];
  for (const holder of holders) {
    all += 1;
    if (holder !== undefined) ordinary += 1;
    if (holder === newcomer) own += 1;
  }
  if (newcomer !== undefined) {
    const quarter = quarterOf(places);
    if (own >= quarter) return { places: quarter, of: 'own', has: (holder) => holder === newcomer };
    const most = places - quarter;
    if (ordinary >= most) return { places: most, of: 'ordinary', has: (holder) => holder !== undefined };
  }
  return all < places ? undefined : { places, of: 'all', has: () => true };
}
