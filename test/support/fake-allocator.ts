import { rmSync } from 'node:fs';
import {
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import {
  allocatorService,
  type AllocateRequest,
  type AttachRequest,
  type Lease,
  type LeaseEvent,
  type LeaseRef,
} from '../../src/generated/proto/pluginbroker/v1/allocator.js';
import type { GivenMessage } from '../../src/platform/wire/table.js';

type GivenLease = GivenMessage<typeof Lease>;
type GivenEvent = GivenMessage<typeof LeaseEvent>;

/** An allocator that gives whatever it is told to, and notes what it is asked. */
export class FakeAllocator {
  readonly requests: AllocateRequest[] = [];
  readonly released: LeaseRef[] = [];
  readonly attached: (LeaseRef | undefined)[] = [];
  /** The answer to Allocate: a lease, or a refusal. */
  answer: GivenLease | { readonly code: status; readonly details: string } = {};
  leases: readonly GivenLease[] = [];
  /** What Release warns of. */
  warnings: readonly string[] = [];
  /** The uid of the caller that lists say; undefined as of an earlier version. */
  callerUid: number | undefined;
  readonly #streams = new Set<ServerDuplexStream<AttachRequest, GivenEvent>>();
  #server: Server | undefined;
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  /** Serves on its socket. */
  async start(): Promise<void> {
    const server = new Server();
    const handlers: UntypedServiceImplementation = {
      Allocate: ({ request }: ServerUnaryCall<AllocateRequest, Lease>, reply: sendUnaryData<GivenLease>) => {
        this.requests.push(request);
        if ('code' in this.answer) reply(this.answer);
        else reply(null, this.answer);
      },
      Release: ({ request }: ServerUnaryCall<LeaseRef, object>, reply: sendUnaryData<object>) => {
        this.released.push(request);
        reply(null, { wasHeld: this.released.length === 1, warnings: this.warnings });
      },
      List: (call: ServerWritableStream<object, object>) => {
        for (const lease of this.leases) call.write({ leases: [lease], callerUid: this.callerUid });
        call.end();
      },
      Attach: (call: ServerDuplexStream<AttachRequest, GivenEvent>) => {
        this.#streams.add(call);
        call.on('data', ({ lease }: AttachRequest) => this.attached.push(lease));
        call.on('cancelled', () => this.#streams.delete(call));
        call.on('error', () => undefined);
      },
      Renew: (_call: unknown, reply: sendUnaryData<object>) => reply({ code: status.UNIMPLEMENTED }),
    };
    server.addService(allocatorService, handlers);
    rmSync(this.#socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.#socket}`, ServerCredentials.createInsecure(), (failure) => {
        if (failure === null) resolve();
        else reject(failure);
      });
    });
    this.#server = server;
  }

  /** Tells all who are attached. */
  tell(event: GivenEvent): void {
    for (const stream of this.#streams) stream.write(event);
  }

  /** Ends as a killed daemon does. */
  cut(): void {
    this.#streams.clear();
    this.#server?.forceShutdown();
  }
}
