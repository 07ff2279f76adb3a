// Calls the allocator over alloc.sock, as programs that want devices do.
import type { status } from '@grpc/grpc-js';
import {
  allocatorService,
  type AllocateRequest,
  type Lease,
  type LeaseEvent,
  type ReleaseReply,
} from '../../generated/proto/pluginbroker/v1/allocator.js';
import type { Clock } from '../../kernel/clock.js';
import type { GivenMessage } from '../wire/table.js';
import { AdminFailure } from './admin-failure.js';
import { GuardedClient } from './guarded-client.js';
import { LocalCalls } from './local-calls.js';

/** Longest time of a call beside the time it may wait for devices; an Allocate of a plugin takes 10 s at most. */
const CALL_MS = 30_000;
/** Leases are paged; one of 1,024 long ids is far below this. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const OPTIONS = { 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES, 'grpc.enable_http_proxy': 0 };
/** The code that the allocator puts before the sentence of a refusal. */
const REASON = /^([A-Z]+(?:_[A-Z]+)+): /;

/** The allocator said no. */
export class AllocationFailure extends AdminFailure {
  /** A code of the reasons table; empty when the answer named none. */
  readonly reason: string;
  constructor(code: keyof typeof status, details: string) {
    super(code, details);
    this.reason = REASON.exec(details)?.[1] ?? '';
  }
}

/** Names a lease, by its id or by a key of the caller. */
export type MeantLease = { readonly id: string } | { readonly key: string };

/**
 * The allocator as a program calls it.
 *
 * @throws Unreachable when there is no broker at the socket
 * @throws AllocationFailure when the broker said no
 */
export class AllocatorClient {
  readonly #calls: LocalCalls;

  /** @param socket absolute path of alloc.sock */
  constructor(socket: string, clock: Clock) {
    this.#calls = new LocalCalls({
      socket,
      clock,
      open: (address) => new GuardedClient(address, clock, OPTIONS),
      // The status alone does not tell: a refusal that is only a matter of time is UNAVAILABLE, as is a lost connection.
      isRefusal: (details) => REASON.test(details),
      refused: (code, details) => new AllocationFailure(code, details),
    });
  }

  /** Asks for devices; resolves when they are given, which may take as long as the request may wait. */
  allocate(request: GivenMessage<typeof AllocateRequest>, signal: AbortSignal): Promise<Lease> {
    return this.#calls.one(allocatorService.Allocate, request, CALL_MS + (request.waitMs ?? 0), signal);
  }

  /** Gives devices back. */
  release(lease: MeantLease, signal: AbortSignal): Promise<ReleaseReply> {
    return this.#calls.one(allocatorService.Release, lease, CALL_MS, signal);
  }

  /** The caller's leases, for root everybody's, oldest first. @param resource only those with devices of it, unless empty */
  async list(resource: string, signal: AbortSignal): Promise<readonly Lease[]> {
    return (await this.listed(resource, signal)).leases;
  }

  /** The same with the caller's uid as the broker sees it; undefined where there is no lease, or the broker does not say it. */
  async listed(resource: string, signal: AbortSignal): Promise<{ leases: readonly Lease[]; uid: number | undefined }> {
    const leases: Lease[] = [];
    let uid: number | undefined;
    for await (const page of this.#calls.many(allocatorService.List, { resource }, CALL_MS, signal)) {
      leases.push(...page.leases);
      uid = page.callerUid;
    }
    return { leases, uid };
  }

  /** Follows a lease until the stream ends, which it does when the lease is over or the broker stops. */
  async attach(lease: MeantLease, tell: (event: LeaseEvent) => void, signal: AbortSignal): Promise<void> {
    for await (const event of this.#calls.many(allocatorService.Attach, { lease }, Infinity, signal)) tell(event);
  }
}
