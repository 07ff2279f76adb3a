// The owner of a lease: what it is bound to, and its name.
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { CgroupLife, LeaseOwner, ProcessLife } from '../model/lease.js';
import { ownerNames } from './owner-names.js';
import type { AllocationCaller, OwnerPort } from './ports.js';
import type { AllocationRequest } from './request.js';

/** The owner that a request means; a process or control group is always the caller's own. */
export function ownerOf(
  { bind, names, key }: AllocationRequest,
  { process, uid }: AllocationCaller,
  owners: OwnerPort,
): LeaseOwner | AllocationRefusal {
  const cgroup = process === undefined ? undefined : groupOf(process, uid, owners);
  if (bind === 'process' && process === undefined) {
    return unseen('the calling process cannot be seen, so that no lease can be bound to it');
  }
  if (bind === 'cgroup' && (cgroup === undefined || cgroup.path === '/')) {
    return unseen('the calling process is in no control group of its own that can be seen');
  }
  const known = process === undefined ? { namespace: 'key', name: key ?? '' } : ownerNames(cgroup?.path, process.pid);
  return {
    bind,
    namespace: names.namespace === '' ? known.namespace : names.namespace,
    name: names.name === '' ? known.name : names.name,
    part: names.part,
    ...(bind === 'process' && process !== undefined ? { process } : {}),
    ...(bind === 'cgroup' && cgroup !== undefined ? { cgroup } : {}),
  };
}

/**
 * The group of that very process. A caller may have passed its connection on and ended, and its pid be somebody else's by now: it is
 * looked for after its group was read.
 */
function groupOf(process: ProcessLife, uid: number, owners: OwnerPort): CgroupLife | undefined {
  const cgroup = owners.cgroupOf(process.pid, uid);
  return cgroup !== undefined && owners.isAlive(process, uid) ? cgroup : undefined;
}

function unseen(message: string): AllocationRefusal {
  return { code: 'OWNER_NOT_SEEN', message };
}
