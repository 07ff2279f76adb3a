// NodeGetInfo with retries inside one budget. The kubelet asks once, so that a driver which
// registers a moment before it serves is refused; here it gets the budget.
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/random.js';
import { GRPC_STATUS, Refused, type RefusalCode } from '../model/reasons.js';
import type { CsiNodeClient, NodeGetInfoResult } from './csi-node-client.js';
import { checkNodeInfo, type NodeInfo } from './node-info.js';

const RETRY: BackoffBounds = { firstMs: 100, maxMs: 2000 };

/** Answers that asking again does not change. */
const FINAL: readonly number[] = [
  GRPC_STATUS.INVALID_ARGUMENT,
  GRPC_STATUS.NOT_FOUND,
  GRPC_STATUS.PERMISSION_DENIED,
  GRPC_STATUS.OUT_OF_RANGE,
  GRPC_STATUS.UNIMPLEMENTED,
  GRPC_STATUS.DATA_LOSS,
  GRPC_STATUS.UNAUTHENTICATED,
];

type Failed = Extract<NodeGetInfoResult, { ok: false }>;

/**
 * Asks a driver for its node info until it answers or `budgetMs` is over.
 *
 * @throws Refused with the last failure as reason, and with the one before where the end of the budget cut the last call off; the signal's reason when it aborts
 */
export async function askNodeInfo(
  driver: string,
  client: CsiNodeClient,
  budgetMs: number,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<NodeInfo> {
  const until = clock.mono() + budgetMs;
  let last: Failed | undefined;
  for (let attempt = 1; ; attempt++) {
    const result = await client.nodeGetInfo(Math.max(1, until - clock.mono()), signal);
    signal.throwIfAborted();
    if (result.ok) return checkNodeInfo(driver, result.answer);
    // Words of the driver itself outweigh that a call was cut off.
    if (last === undefined || last.fault !== undefined || result.fault !== 'no-answer') last = result;
    const waitMs = backoffMs(attempt, RETRY, random.next());
    if (FINAL.includes(result.status) || clock.mono() + waitMs >= until) throw failed(driver, last, budgetMs, attempt);
    await sleep(clock, waitMs, signal);
  }
}

function failed(driver: string, { status, details, fault }: Failed, budgetMs: number, attempts: number): Refused {
  const tries = attempts === 1 ? '' : `, ${attempts} tries`;
  const refuse = (code: RefusalCode, why: string): Refused =>
    new Refused({ code, message: `CSI driver ${driver}: NodeGetInfo ${why}` });
  if (fault === 'no-answer') {
    return refuse('NO_ANSWER', `was not answered within ${budgetMs} ms${tries}`);
  }
  if (status === GRPC_STATUS.UNIMPLEMENTED) return refuse('NOT_SERVED', `is not served on the endpoint: ${details}`);
  if (fault === 'no-listener') return refuse('NO_LISTENER', `failed: nobody listens on the endpoint${tries}`);
  if (fault === 'not-permitted') return refuse('NOT_PERMITTED', `failed: ${details}`);
  if (fault === 'busy')
    return refuse('BUSY', `could not be asked: the broker has nothing left to connect with (${details})`);
  if (status === GRPC_STATUS.DATA_LOSS)
    return refuse('NODE_INFO_INVALID', `answered bytes that cannot be decoded: ${details}`);
  if (fault === 'not-grpc') return refuse('NOT_GRPC', `failed: the endpoint does not speak gRPC (${details})`);
  return refuse('NODE_INFO_FAILED', `failed with ${statusName(status)}: ${details}${tries}`);
}

function statusName(status: number): string {
  return Object.entries(GRPC_STATUS).find(([, number]) => number === status)?.[0] ?? `status ${status}`;
}
