// Whether a repeated key asks for the same as its lease was given for. Pure.
import { ownerText, type Lease, type LeaseOwner } from '../model/lease.js';

/** The difference, to follow 'the lease was'; undefined when there is none. Of an owner only its binding counts. */
export function differenceOf(
  lease: Lease,
  { wants, ttlMs }: Pick<Lease, 'wants' | 'ttlMs'>,
  owner: LeaseOwner,
): string | undefined {
  if (JSON.stringify(lease.wants) !== JSON.stringify(wants)) {
    return `asked for ${wantsText(lease.wants)}, and now for ${wantsText(wants)}`;
  }
  if (JSON.stringify(boundTo(lease.owner)) !== JSON.stringify(boundTo(owner))) {
    return `bound to ${boundText(lease.owner)}, and now to ${boundText(owner)}`;
  }
  if (lease.ttlMs === ttlMs) return undefined;
  return `given a time to live of ${String(lease.ttlMs ?? 0)} ms, and now of ${String(ttlMs ?? 0)} ms`;
}

/** The part of an owner that must be the same for a key to name the same lease. */
export function boundTo({ bind, process, cgroup }: LeaseOwner): unknown {
  return [bind, process?.pid, process?.startTime, cgroup?.path, cgroup?.inode];
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
