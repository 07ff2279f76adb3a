// Calls the allocator over alloc.sock, as programs that want devices do.
import { status, type ClientDuplexStream, type ClientReadableStream, type ServiceError } from '@grpc/grpc-js';
import {
  allocatorService,
  type AllocateRequest,
  type AttachRequest,
  type Lease,
  type LeaseEvent,
  type LeasePage,
} from '../../generated/proto/pluginbroker/v1/allocator.js';
import type { Clock } from '../../kernel/clock.js';
import type { WireMethod } from '../wire/method.js';
import type { Decoded, Fields, Given, GivenMessage } from '../wire/table.js';
import { unaryCall } from './unary-call.js';
import { AdminFailure, unreachableBecause } from './admin-failure.js';
import { GuardedClient } from './guarded-client.js';
import { isLost, isServiceError, tryConnect } from './local-call.js';

/** Longest time of a call beside the time it may wait for devices; an Allocate of a plugin takes 10 s at most. */
const CALL_MS = 30_000;
/** Leases are paged; one of 1,024 long ids is far below this. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
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
 * The allocator as a program calls it. Every call uses a connection of its own, so that it reaches the present owner of the
 * socket.
 *
 * @throws Unreachable when there is no broker at the socket
 * @throws AllocationFailure when the broker said no
 */
export class AllocatorClient {
  readonly #socket: string;
  readonly #clock: Clock;

  /** @param socket absolute path of alloc.sock */
  constructor(socket: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** Asks for devices; resolves when they are given, which may take as long as the request may wait. */
  allocate(request: GivenMessage<typeof AllocateRequest>, signal: AbortSignal): Promise<Lease> {
    return this.#call(allocatorService.Allocate, request, CALL_MS + (request.waitMs ?? 0), signal);
  }

  /** Gives devices back. @returns whether there was such a lease */
  async release(lease: MeantLease, signal: AbortSignal): Promise<boolean> {
    return (await this.#call(allocatorService.Release, lease, CALL_MS, signal)).wasHeld;
  }

  /** The caller's leases, for root everybody's, oldest first. @param resource only those with devices of it, unless empty */
  async list(resource: string, signal: AbortSignal): Promise<readonly Lease[]> {
    const { path, requestSerialize, responseDeserialize } = allocatorService.List;
    const leases: Lease[] = [];
    await this.#streamed(signal, (client) => {
      const deadline = this.#clock.wall() + CALL_MS;
      const call = client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        { resource },
        { deadline },
      );
      call.on('data', (page: LeasePage) => leases.push(...page.leases));
      return call;
    });
    return leases;
  }

  /** Follows a lease until the stream ends, which it does when the lease is over or the broker stops. */
  async attach(lease: MeantLease, tell: (event: LeaseEvent) => void, signal: AbortSignal): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = allocatorService.Attach;
    await this.#streamed(signal, (client) => {
      const call: ClientDuplexStream<GivenMessage<typeof AttachRequest>, LeaseEvent> = client.makeBidiStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
      );
      call.on('data', tell);
      call.write({ lease });
      return call;
    });
  }

  /** Runs a call with a stream of answers to its end. */
  async #streamed(
    signal: AbortSignal,
    open: (client: GuardedClient) => Pick<ClientReadableStream<unknown>, 'cancel' | 'on'>,
  ): Promise<void> {
    const client = await this.#connected(signal);
    let cancel = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const call = open(client);
        cancel = () => call.cancel();
        call.on('error', reject);
        call.on('status', ({ code }: { code: status }) => {
          if (code === status.OK) resolve();
        });
        signal.addEventListener('abort', cancel, { once: true });
        if (signal.aborted) cancel();
      });
    } catch (thrown) {
      throw this.#failure(thrown, signal);
    } finally {
      signal.removeEventListener('abort', cancel);
      client.close();
    }
  }

  async #call<Q extends Fields, A extends Fields>(
    method: WireMethod<Q, A>,
    request: Given<Q>,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Decoded<A>> {
    const client = await this.#connected(signal);
    try {
      return await unaryCall(client, method, request, this.#clock.wall() + limitMs, signal);
    } catch (thrown) {
      throw this.#failure(thrown, signal);
    } finally {
      client.close();
    }
  }

  async #connected(signal: AbortSignal): Promise<GuardedClient> {
    signal.throwIfAborted();
    await tryConnect(this.#socket);
    return new GuardedClient(`unix:${this.#socket}`, this.#clock, {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.enable_http_proxy': 0,
    });
  }

  #failure(thrown: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (!isServiceError(thrown)) return thrown;
    if (!isRefusal(thrown) && isLost(thrown)) return unreachableBecause(this.#socket, 'lost');
    if (thrown.code === status.DEADLINE_EXCEEDED) return unreachableBecause(this.#socket, 'silent');
    return new AllocationFailure(status[thrown.code] as keyof typeof status, thrown.details);
  }
}

/** The status alone does not tell: a refusal that is only a matter of time is UNAVAILABLE, as is a lost connection. */
function isRefusal({ details }: ServiceError): boolean {
  return REASON.test(details);
}
