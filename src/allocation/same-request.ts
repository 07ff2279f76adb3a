// Whether a repeated key asks for the same as its lease was given for. Pure.
import { ownerText, type Lease, type LeaseOwner, type Want } from '../model/lease.js';

/** The difference, to follow 'the lease was'; undefined when there is none. Of an owner only its binding counts. */
export function differenceOf(
  lease: Lease,
  { wants, ttlMs }: Pick<Lease, 'wants' | 'ttlMs'>,
  owner: LeaseOwner,
): string | undefined {
  if (!sameWants(lease.wants, wants)) {
    return `asked for ${wantsText(lease.wants)}, and now for ${wantsText(wants)}`;
  }
  if (!sameBinding(lease.owner, owner)) {
    return `bound to ${boundText(lease.owner)}, and now to ${boundText(owner)}`;
  }
  if (lease.ttlMs === ttlMs) return undefined;
  return `given a time to live of ${String(lease.ttlMs ?? 0)} ms, and now of ${String(ttlMs ?? 0)} ms`;
}

/** A request with a key. */
export type Keyed = Pick<Lease, 'wants' | 'ttlMs' | 'owner'>;

/** Whether two requests with one key can have one answer. Nothing is made for it that would outlive the comparison. */
export function isSame(one: Keyed, other: Keyed): boolean {
  return one.ttlMs === other.ttlMs && sameBinding(one.owner, other.owner) && sameWants(one.wants, other.wants);
}

function sameWants(some: readonly Want[], others: readonly Want[]): boolean {
  const isAlike = (one: Want, other: Want | undefined): boolean =>
    one.resource === other?.resource &&
    one.count === other.count &&
    one.numa === other.numa &&
    one.ids.length === other.ids.length &&
    one.ids.every((id, nth) => id === other.ids[nth]);
  return some.length === others.length && some.every((one, nth) => isAlike(one, others[nth]));
}

/** The part of an owner that must be the same for a key to name the same lease. */
function sameBinding(one: LeaseOwner, other: LeaseOwner): boolean {
  return (
    one.bind === other.bind &&
    one.process?.pid === other.process?.pid &&
    one.process?.startTime === other.process?.startTime &&
    one.cgroup?.path === other.cgroup?.path &&
    one.cgroup?.inode === other.cgroup?.inode
  );
}

function boundText(owner: LeaseOwner): string {
  const { bind, process, cgroup } = owner;
  if (process !== undefined) return `process ${String(process.pid)}`;
  return cgroup === undefined ? `its ${bind} (${ownerText(owner)})` : `control group ${cgroup.path}`;
}

function wantsText(wants: Lease['wants']): string {
  return wants
    .map(({ resource, count, ids, numa }) => {
      const named = ids.length === 0 ? '' : ` (${ids.slice(0, 4).join(', ')})`;
      return `${String(count)} of ${resource}${named}${numa === 'single' ? ' on one NUMA node' : ''}`;
    })
    .join(' and ');
}
