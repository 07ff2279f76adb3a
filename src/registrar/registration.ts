// One driver registered: its socket, the service on it, and the kubelet's answer.
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import type { Socket } from 'node:net';
import type { Clock } from '../kernel/clock.js';
import { CSI_PLUGIN } from '../model/ids.js';
import { GrpcDoor, type Connection } from '../platform/grpc/grpc-door.js';
import { GuardedClient } from '../platform/grpc/guarded-client.js';
import { unaryCall } from '../platform/grpc/unary-call.js';
import { Border } from '../platform/http2/border.js';
import { DEFAULT_GUARD } from '../platform/http2/default-guard.js';
import { registrationService as pluginRegistrationService } from '../generated/proto/pluginregistration/v1/pluginregistration.js';
import type { RegistrarLog } from './registrar-log.js';
import { RegistrationSocket } from './registration-socket.js';

/** The version that the original names, independent of the driver's. */
const SUPPORTED_VERSIONS = ['1.0.0'];

/** Concurrent calls of one connection: a kubelet makes two short calls on each, a health check one. */
const STREAMS = 8;
/** The largest request: a status with the error text of a kubelet. */
const MAX_REQUEST_BYTES = 64 * 1024;

/** The parts of a registration. */
export interface RegistrationParts {
  readonly driver: string;
  readonly endpoint: string;
  readonly directory: string;
  readonly clock: Clock;
  readonly log: RegistrarLog;
  /** The kubelet refused the driver; called after it got its answer. */
  readonly refused: (error: string) => void;
}

interface Status {
  readonly pluginRegistered: boolean;
  readonly error: string;
}

/** A driver that offers itself to the kubelet. */
export class Registration {
  readonly driver: string;
  readonly socket: RegistrationSocket;
  /** The last word of the kubelet; undefined before the first. */
  isRegistered: boolean | undefined;
  readonly counts = { getInfo: 0, accepted: 0, refused: 0 };
  readonly #parts: RegistrationParts;
  readonly #door: GrpcDoor;

  constructor(parts: RegistrationParts) {
    this.#parts = parts;
    this.driver = parts.driver;
    this.#door = new GrpcDoor({
      clock: parts.clock,
      accept: (socket) => this.#accept(socket),
      streams: STREAMS,
      maxRequestBytes: MAX_REQUEST_BYTES,
    });
    this.socket = new RegistrationSocket(parts.directory, parts.driver, this.#door.take);
    this.#door.serve(pluginRegistrationService, {
      GetInfo: (_call: ServerUnaryCall<object, object>, reply: sendUnaryData<object>) => reply(null, this.#info()),
      NotifyRegistrationStatus: (call: ServerUnaryCall<Status, object>, reply: sendUnaryData<object>) => {
        reply(null, {});
        this.#notified(call.request);
      },
    });
  }

  /** Whether the service answers on the socket, as a kubelet would see it. Rejects with the failure. */
  async probe(timeoutMs: number): Promise<void> {
    const client = new GuardedClient(`unix:${this.socket.path}`, this.#parts.clock);
    try {
      const { name } = await unaryCall(client, pluginRegistrationService.GetInfo, {}, Date.now() + timeoutMs);
      if (name !== this.driver) throw new Error(`invalid driver name ${JSON.stringify(name)}`);
    } finally {
      client.close();
    }
  }

  /** Lets calls in flight finish, then ends all connections. The socket file stays. */
  async close(drainMs: number): Promise<void> {
    this.socket.close();
    await this.#door.drain(drainMs);
  }

  #info(): object {
    const { driver, endpoint, log } = this.#parts;
    this.counts.getInfo += 1;
    log.info(4, 'Received GetInfo call', { driver });
    return { type: CSI_PLUGIN, name: driver, endpoint, supportedVersions: SUPPORTED_VERSIONS };
  }

  #notified({ pluginRegistered, error }: Status): void {
    const { driver, log, refused } = this.#parts;
    this.isRegistered = pluginRegistered;
    log.info(0, 'Received NotifyRegistrationStatus call', { driver, registered: pluginRegistered, error });
    if (pluginRegistered) this.counts.accepted += 1;
    else {
      this.counts.refused += 1;
      refused(error);
    }
  }

  #accept(socket: Socket): Connection {
    const { clock, log, driver } = this.#parts;
    // Kubelets before 1.29 send the raw socket path as :authority, which Node refuses: the border repairs it.
    const stream = new Border(socket, {
      guard: DEFAULT_GUARD,
      clock,
      onEnd: ({ code, message }) => log.warning('A connection was ended', { driver, code, why: message }),
    });
    return { caller: undefined, stream, slowDown: () => undefined, answered: () => undefined };
  }
}
