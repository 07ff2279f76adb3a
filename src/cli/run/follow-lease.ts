// Stays attached to a lease while its command runs, through restarts of the broker, and prints its changes.
import { backoffMs } from '../../kernel/backoff.js';
import { sleep, type Clock } from '../../kernel/clock.js';
import type { Random } from '../../kernel/random.js';
import type { LeaseEvent } from '../../generated/proto/pluginbroker/v1/allocator.js';
import { isLast } from '../../model/lease.js';
import { AdminFailure } from '../../platform/grpc/admin-failure.js';
import type { AllocatorClient } from '../../platform/grpc/allocator-client.js';

/** Pauses before attaching again: a restart of the broker takes a tenth of a second, one that is away may stay so. */
const RETRY = { firstMs: 50, maxMs: 5_000 };

/** The ports of following. */
export interface Following {
  readonly allocator: Pick<AllocatorClient, 'attach'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Something the user of the command should know, in one line. */
  readonly tell: (line: string) => void;
}

/** Follows a lease until it is over or `signal` aborts. Never rejects. */
export async function followLease(
  id: string,
  { allocator, clock, random, tell }: Following,
  signal: AbortSignal,
): Promise<void> {
  const heard = { isOver: false, failures: 0, told: '' };
  const hear = ({ type, message }: LeaseEvent): void => {
    heard.failures = 0;
    heard.isOver ||= isLast(type);
    const isWell = type === 'attached' || type === 'active' || type === 'unconfirmed';
    // An impaired lease is told of again after each restart of the broker.
    if (!isWell && message !== heard.told) tell(`lease ${id}: ${message}`);
    heard.told = isWell ? '' : message;
  };
  while (!signal.aborted) {
    try {
      await allocator.attach({ id }, hear, signal);
    } catch (failure) {
      if (failure instanceof AdminFailure && failure.code === 'NOT_FOUND') {
        tell(`lease ${id} is over: ${failure.message}; its devices may be given to others`);
        return;
      }
    }
    if (heard.isOver) return;
    heard.failures += 1;
    await sleep(clock, backoffMs(heard.failures, RETRY, random.next()), signal).catch(() => undefined);
  }
}
