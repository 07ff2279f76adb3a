// The order in which instances that are over are forgotten. Pure.
import type { UserFacts } from '../model/ids.js';
import { strangerUserOf, wasIn, type Instance } from '../model/instance.js';

/**
 * The instances that are over in the order in which they are forgotten: those of the user that has most of them first (root and the
 * broker's user are one), for others can make as many as they like. Of one user those that may come back by themselves, such as a
 * frozen plugin beyond its grace, come last.
 *
 * @param over oldest first, which also decides between equals
 */
export function forgottenFirst(over: readonly Instance[], users: UserFacts): Instance[] {
  const counts = new Map<number | undefined, number>();
  const ranked = over.map((instance) => {
    const user = strangerUserOf(instance, users);
    counts.set(user, (counts.get(user) ?? 0) + 1);
    return { instance, user, mayReturn: Number(mayComeBack(instance)) };
  });
  const countOf = (user: number | undefined): number => counts.get(user) ?? 0;
  return ranked
    .sort((one, other) => {
      const more = countOf(other.user) - countOf(one.user);
      return more === 0 ? one.mayReturn - other.mayReturn : more;
    })
    .map(({ instance }) => instance);
}

function mayComeBack(over: Instance): boolean {
  return over.state === 'gone' && over.reason === 'grace-over' && wasIn(over);
}
