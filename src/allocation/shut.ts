// Why nothing can be given out now. Pure.
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { LedgerState } from '../model/lease.js';

/** The refusal while the broker stops. */
export const STOPPING: AllocationRefusal = {
  code: 'ALLOCATOR_STOPPING',
  message: 'the broker is stopping; its successor knows the leases',
};

/**
 * The refusal of all requests, or undefined while devices can be given out.
 *
 * @param state of the leases of earlier lives
 * @param mayWrite whether a change can reach the disk now
 */
export function shutBy(
  state: LedgerState | 'unread',
  isStopping: boolean,
  mayWrite: boolean,
): AllocationRefusal | undefined {
  if (isStopping) return STOPPING;
  if (state === 'unknown') {
    return {
      code: 'LEDGER_UNKNOWN',
      message:
        'the checkpoint was lost and nobody knows what is given out; `plugin-broker allocations reset` says that nothing is',
    };
  }
  if (mayWrite) return undefined;
  return state === 'unread'
    ? {
        code: 'LEDGER_UNKNOWN',
        message: 'the checkpoint was not read, so that nobody knows what is given out; see `plugin-broker status`',
      }
    : {
        code: 'LEDGER_NOT_WRITABLE',
        message: 'nothing can be written to the checkpoint; see `plugin-broker status`',
      };
}
