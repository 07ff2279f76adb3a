// Results of the calls at alloc.sock, as values.
import type { AllocationCode, AllocationRefusal } from '../model/allocation-reasons.js';
import type { Lease } from '../model/lease.js';

/** No result, and why. */
export interface Refused {
  readonly ok: false;
  readonly refusal: AllocationRefusal;
}

/** A result, or why there is none. */
export type Result<T> = { readonly ok: true; readonly value: T } | Refused;

/** Names a lease: by its id, or by a key of the caller's. */
export interface LeaseRef {
  readonly id: string;
  readonly key: string;
}

/** The result of a release. */
export interface Released {
  /** Whether there was such a lease. */
  readonly wasHeld: boolean;
  /** One sentence each. */
  readonly warnings: readonly string[];
}

/** Nobody waits for the result any more. */
export const GIVEN_UP: AllocationRefusal = {
  code: 'ALLOCATOR_STOPPING',
  message: 'the caller went away, or the broker is stopping',
};

/** A refusal as a result. */
export function refused(code: AllocationCode, message: string): Refused {
  return { ok: false, refusal: { code, message } };
}

/** The refusal of a call about a lease that ended while the call was under way. */
export function hasEnded({ id }: Lease): Refused {
  return refused('LEASE_UNKNOWN', `lease ${id} has ended meanwhile`);
}

/** The refusal of a renewal that a restart of the broker would undo. */
export function notWritten({ id }: Lease): Refused {
  const message = `lease ${id} goes on, but that could not be written to the disk in time; see \`plugin-broker status\``;
  return refused('LEDGER_NOT_WRITABLE', message);
}

/** The result of a release that is done. @param isOnDisk a crash of the broker does not undo it */
export function released(isOnDisk: boolean): Released {
  const warning =
    'that could not be written to the disk in time: a broker that is killed before it is has the lease again; see `plugin-broker status`';
  return { wasHeld: true, warnings: isOnDisk ? [] : [warning] };
}
