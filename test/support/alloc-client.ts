import { Client, credentials, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import { allocatorService, type Lease, type LeaseEvent } from '../../src/generated/proto/pluginbroker/v1/allocator.js';
import type { GivenMessage, Message } from '../../src/platform/wire/table.js';
import type { AllocateRequest } from '../../src/generated/proto/pluginbroker/v1/allocator.js';

/** A lease as a client sees it. */
export type LeaseSeen = Message<typeof Lease>;
/** News of a lease as a client sees them. */
export type NewsSeen = Message<typeof LeaseEvent>;
type Request = GivenMessage<typeof AllocateRequest>;

/** The code with which a call was refused: the word before the colon. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (failure) {
    const { details = '', code } = failure as Partial<ServiceError>;
    return details === '' ? `status ${String(code)}` : (details.split(':')[0] ?? '');
  }
  return 'given';
}

/** Asks for devices over one connection. */
export class AllocClient {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 200,
    });
  }

  /** @param signal ends the call from our side */
  allocate(request: Request, signal?: AbortSignal): Promise<LeaseSeen> {
    const { path, requestSerialize, responseDeserialize } = allocatorService.Allocate;
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline: Date.now() + 60_000 },
        (failure, lease) => (failure === null && lease !== undefined ? resolve(lease) : reject(failure as Error)),
      );
      signal?.addEventListener('abort', () => call.cancel(), { once: true });
    });
  }

  /** One device of a resource, or a request by what differs from that. */
  one(
    resource: string,
    more: Request & { readonly count?: number; readonly ids?: readonly string[] } = {},
  ): Promise<LeaseSeen> {
    const { count = 0, ids = [], ...request } = more;
    return this.allocate({ wants: [{ resource, count, ids }], ...request });
  }

  /** Whether there was such a lease. */
  async release(ref: { readonly id?: string; readonly key?: string }): Promise<boolean> {
    return (await this.#unary('Release', ref)).wasHeld;
  }

  renew(ref: { readonly id?: string; readonly key?: string }): Promise<LeaseSeen> {
    return this.#unary('Renew', ref);
  }

  list(resource = ''): Promise<LeaseSeen[]> {
    const { path, requestSerialize, responseDeserialize } = allocatorService.List;
    return new Promise((resolve, reject) => {
      const leases: LeaseSeen[] = [];
      const call = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { resource });
      call.on('data', (page: { leases: LeaseSeen[] }) => leases.push(...page.leases));
      call.on('error', reject);
      call.on('end', () => resolve(leases));
    });
  }

  /** Follows a lease; `news` grows. The request stream stays open, as a program that knows nothing of us leaves it. */
  attach(ref: { readonly id?: string; readonly key?: string }): {
    readonly news: NewsSeen[];
    readonly ended: Promise<string>;
    readonly cancel: () => void;
  } {
    const { path, requestSerialize, responseDeserialize } = allocatorService.Attach;
    const call: ClientDuplexStream<object, NewsSeen> = this.#client.makeBidiStreamRequest(
      path,
      requestSerialize as (value: object) => Buffer,
      responseDeserialize,
    );
    const news: NewsSeen[] = [];
    call.on('data', (one: NewsSeen) => news.push(one));
    const ended = new Promise<string>((resolve) => {
      call.on('error', (failure: ServiceError) => resolve(failure.details));
      call.on('end', () => resolve(''));
    });
    call.write({ lease: ref });
    return { news, ended, cancel: () => call.cancel() };
  }

  close(): void {
    this.#client.close();
  }

  #unary<K extends 'Release' | 'Renew'>(
    name: K,
    ref: { readonly id?: string; readonly key?: string },
  ): Promise<ReturnType<(typeof allocatorService)[K]['responseDeserialize']>> {
    const { path, requestSerialize, responseDeserialize } = allocatorService[name];
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize as (bytes: Buffer) => ReturnType<(typeof allocatorService)[K]['responseDeserialize']>,
        ref,
        { deadline: Date.now() + 30_000 },
        (failure, answer) => (failure === null && answer !== undefined ? resolve(answer) : reject(failure as Error)),
      );
    });
  }
}
