// The services that every gRPC tool expects of a server, beside its own: grpc.health.v1 for probes, and reflection for clients
// that have no .proto files. Both are for operators and stand on broker.sock.
import {
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { asError } from '../../kernel/clock.js';
import {
  healthService,
  HealthCheckResponse,
  HealthCheckResponseServingStatus as Serving,
  type HealthCheckRequest,
} from '../../generated/proto/grpc/health/v1/health.js';
import {
  serverReflectionService as v1,
  ServerReflectionResponse,
  type ServerReflectionRequest,
} from '../../generated/proto/grpc/reflection/v1/reflection.js';
import { serverReflectionService as v1alpha } from '../../generated/proto/grpc/reflection/v1alpha/reflection.js';
import type { BrokerView } from '../../model/views.js';
import type { GivenMessage } from '../wire/table.js';
import { DescribedFiles } from './described-files.js';
import type { GrpcDoor } from './grpc-door.js';

/** Watches and conversations open at a time. */
const MOST_STREAMS = 64;
const ADMIN = 'pluginbroker.v1.Admin';
/** The services on broker.sock. */
const SERVICES = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  ADMIN,
];

type Watch = ServerWritableStream<HealthCheckRequest, Buffer>;
type Conversation = ServerDuplexStream<ServerReflectionRequest, Buffer>;
type Answer = GivenMessage<typeof ServerReflectionResponse>;

/** Health and reflection of one door. */
export class StandardServices {
  readonly #phase: () => BrokerView['phase'];
  readonly #watches = new Map<Watch, number>();
  readonly #conversations = new Set<Conversation>();
  readonly #files = new DescribedFiles(
    async () => (await import('../../generated/proto/descriptors.js')).fileDescriptors,
  );

  /** @param phase of the broker, Standing (admin/standing): the server as a whole serves when it is ready, degraded or not */
  constructor(phase: () => BrokerView['phase']) {
    this.#phase = phase;
  }

  /** Adds both to a door, before its first connection. */
  serve(door: GrpcDoor): void {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const { Check, Watch } = healthService;
    door.serve(
      { Check: { ...Check, responseSerialize: asIs }, Watch: { ...Watch, responseSerialize: asIs } },
      {
        Check: (call: ServerUnaryCall<HealthCheckRequest, Buffer>, reply: sendUnaryData<Buffer>) => {
          const now = this.#serving(call.request.service);
          if (now === Serving.SERVICE_UNKNOWN) {
            reply({ code: status.NOT_FOUND, details: `${call.request.service} is not served here` });
          } else reply(null, HealthCheckResponse.encode({ status: now }));
        },
        Watch: (call: Watch) => this.#watch(call),
      },
    );
    // The messages of both versions are the same on the wire.
    const { ServerReflectionInfo } = v1;
    for (const { path } of [ServerReflectionInfo, v1alpha.ServerReflectionInfo]) {
      door.serve(
        { ServerReflectionInfo: { ...ServerReflectionInfo, path, responseSerialize: asIs } },
        { ServerReflectionInfo: (call: Conversation) => this.#converse(call) },
      );
    }
  }

  /** The phase may be another one. */
  changed(): void {
    for (const [call, before] of this.#watches) {
      const now = this.#serving(call.request.service);
      if (now === before) continue;
      this.#watches.set(call, now);
      call.write(HealthCheckResponse.encode({ status: now }));
    }
  }

  /** Ends calls that would go on for ever. */
  close(): void {
    for (const call of [...this.#watches.keys(), ...this.#conversations]) call.end();
    this.#watches.clear();
    this.#conversations.clear();
  }

  #serving(service: string): number {
    if (service === '') {
      const phase = this.#phase();
      return phase === 'ready' || phase === 'degraded' ? Serving.SERVING : Serving.NOT_SERVING;
    }
    // A client that is answered here is served by all of them.
    return SERVICES.includes(service) ? Serving.SERVING : Serving.SERVICE_UNKNOWN;
  }

  #watch(call: Watch): void {
    if (this.#isFull(call)) return;
    const now = this.#serving(call.request.service);
    this.#watches.set(call, now);
    const leave = (): void => void this.#watches.delete(call);
    call.once('cancelled', leave).once('close', leave);
    call.write(HealthCheckResponse.encode({ status: now }));
  }

  #converse(call: Conversation): void {
    if (this.#isFull(call)) return;
    this.#conversations.add(call);
    const leave = (): void => void this.#conversations.delete(call);
    call.once('cancelled', leave).once('close', leave);
    const answer = async (): Promise<void> => {
      for await (const question of call as AsyncIterable<ServerReflectionRequest>) {
        const bytes = ServerReflectionResponse.encode({
          ...(await this.#answer(question)),
          validHost: question.host,
          originalRequest: question,
        });
        if (!call.write(bytes) && !call.cancelled)
          await new Promise((resolve) => call.once('drain', resolve).once('close', resolve));
      }
      call.end();
    };
    answer().catch((failure: unknown) => {
      if (!call.cancelled) call.emit('error', { code: status.INTERNAL, details: asError(failure).message });
    });
  }

  async #answer(question: ServerReflectionRequest): Promise<Answer> {
    const { listServices, fileByFilename, fileContainingSymbol } = question;
    if (listServices !== undefined) return { listServicesResponse: { service: SERVICES.map((name) => ({ name })) } };
    const files =
      fileByFilename !== undefined
        ? await this.#files.byName(fileByFilename)
        : fileContainingSymbol === undefined
          ? undefined
          : await this.#files.bySymbol(fileContainingSymbol);
    if (files !== undefined) return { fileDescriptorResponse: { fileDescriptorProto: [...files] } };
    const what = fileByFilename ?? fileContainingSymbol ?? 'an extension';
    return { errorResponse: { errorCode: status.NOT_FOUND, errorMessage: `${what} is not described here` } };
  }

  #isFull(call: Watch | Conversation): boolean {
    if (this.#watches.size + this.#conversations.size < MOST_STREAMS) return false;
    const details = `${String(MOST_STREAMS)} watches and conversations are open already`;
    call.emit('error', { code: status.RESOURCE_EXHAUSTED, details });
    return true;
  }
}
