// The status that answers a call at alloc.sock that failed or was refused.
import { Metadata } from '@grpc/grpc-js';
import { asError } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { ALLOCATION_REFUSALS, type AllocationRefusal } from '../../model/allocation-reasons.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { encodeRetryInfo, STATUS_DETAILS_KEY } from '../wire/retry-info.js';
import { WireError } from '../wire/wire-error.js';

/** Its connection was closed before the kernel could be asked, or the kernel does not say. */
export class UnknownCaller extends Error {
  override readonly message = 'the kernel does not say who calls';
}

/** Turns anything thrown into a refusal; an unexpected error is logged and answered INTERNAL. */
export function failureOf(failure: unknown, log: Log): unknown {
  if (failure instanceof WireError) {
    return { code: 'WANT_INVALID', message: `the request cannot be decoded: ${failure.message}` };
  }
  if (failure instanceof UnknownCaller) return failure;
  log.error('allocation.call-failed', `a call at alloc.sock failed: ${asError(failure).message}`);
  return failure;
}

/** A refusal as a gRPC status: its code, its sentence, and when to try again (google.rpc.RetryInfo). */
export function statusOf(failure: unknown): { code: number; details: string; metadata: Metadata } {
  const metadata = new Metadata();
  if (failure instanceof UnknownCaller) {
    return { code: GRPC_STATUS.UNAUTHENTICATED, details: failure.message, metadata };
  }
  const refusal = failure as Partial<AllocationRefusal>;
  const spec = refusal.code === undefined ? undefined : ALLOCATION_REFUSALS[refusal.code];
  if (spec === undefined) return { code: GRPC_STATUS.INTERNAL, details: asError(failure).message, metadata };
  const code = GRPC_STATUS[spec.status];
  const details = `${refusal.code ?? ''}: ${refusal.message ?? ''}`;
  if (refusal.retryAfterMs !== undefined) {
    metadata.set(STATUS_DETAILS_KEY, encodeRetryInfo(code, details, refusal.retryAfterMs));
    metadata.set('grpc-retry-pushback-ms', String(Math.ceil(refusal.retryAfterMs)));
  }
  return { code, details, metadata };
}
