// The service DevicePlugin, and Registration beside it, on the sockets of all fronted resources: one server for all, which knows
// a call's resource by its connection.
import type { Socket } from 'node:net';
import type { sendUnaryData, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { FrontAnswer, FrontedService, ListOut } from '../../front/ports.js';
import { LONGEST_ALARM_MS, type Clock } from '../../kernel/clock.js';
import type { ConnectionEnd } from '../../model/connection-ends.js';
import type { DeviceMethod } from '../../model/device-use.js';
import { DEVICE_PLUGIN, DEVICE_PLUGIN_VERSION } from '../../model/ids.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { GuardSettings } from '../../model/settings.js';
import { GrpcDoor, type Connection } from '../grpc/grpc-door.js';
import type { RequestBytes } from '../grpc/request-bytes.js';
import { Border } from '../http2/border.js';
import { DevicePluginOptions, devicePluginService } from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import {
  PluginInfo,
  registrationService,
  RegistrationStatusResponse,
} from '../../generated/proto/pluginregistration/v1/pluginregistration.js';

/** An Allocate names ids, the largest a few thousand of them. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
/** Calls at once on one connection: a stream, and a call for each pod that starts. */
const STREAMS = 256;

/** The ports of the door. */
export interface FrontDoorPorts {
  readonly clock: Clock;
  /** `guard` of the configuration: FrontLine (daemon/front-line) reads it. */
  readonly guard: () => GuardSettings;
  /** A connection ended against the rules of HTTP/2: `FrontNews.connectionEnded` (front/front-news). */
  readonly ended: (resource: string, uid: number | undefined, end: ConnectionEnd) => void;
}

interface Fronted {
  readonly resource: string;
  readonly service: FrontedService;
}

type Unary = (call: ServerUnaryCall<RequestBytes, Buffer>, fronted: Fronted) => FrontAnswer | Promise<FrontAnswer>;

/** Serves kubelets. */
export class FrontDoor {
  readonly #door: GrpcDoor;
  readonly #ports: FrontDoorPorts;
  readonly #arriving = new WeakMap<Socket, Fronted>();
  readonly #fronted = new WeakMap<Connection, Fronted>();

  constructor(ports: FrontDoorPorts) {
    this.#ports = ports;
    this.#door = new GrpcDoor({
      accept: (socket) => this.#accept(socket),
      streams: STREAMS,
      maxRequestBytes: MAX_REQUEST_BYTES,
      clock: ports.clock,
    });
    this.#serve();
  }

  /** Takes a connection to a socket of a resource. */
  readonly take = (socket: Socket, resource: string, service: FrontedService): void => {
    this.#arriving.set(socket, { resource, service });
    this.#door.take(socket);
  };

  /** Ends all connections, once the answers and lists that were given have left, for `limitMs` at most. */
  close(limitMs: number): Promise<void> {
    return this.#door.drain(limitMs);
  }

  #accept(socket: Socket): Connection {
    const { clock, guard, ended } = this.#ports;
    const fronted = this.#arriving.get(socket);
    const border = new Border(socket, {
      // The kubelet keeps a connection for weeks, may be stopped for a while, and is not to be hurried.
      guard: {
        ...guard(),
        idleMs: LONGEST_ALARM_MS,
        ageMs: LONGEST_ALARM_MS,
        unreadMs: LONGEST_ALARM_MS,
        unreadBytes: 2 * MAX_REQUEST_BYTES,
      },
      clock,
      onEnd: (end) => ended(fronted?.resource ?? '', fronted?.service.uid, end),
    });
    const connection: Connection = {
      caller: undefined,
      stream: border,
      slowDown: () => undefined,
      answered: () => undefined,
    };
    if (fronted !== undefined) this.#fronted.set(connection, fronted);
    return connection;
  }

  #serve(): void {
    const passed = (method: DeviceMethod): Unary => {
      return async (call, { service }) => {
        const gone = new AbortController();
        const left = (): void => gone.abort();
        call.on('cancelled', left);
        try {
          return await service.call(method, call.request.take(), gone);
        } finally {
          // The library says it of every call that is over.
          call.off('cancelled', left);
        }
      };
    };
    const { GetDevicePluginOptions, ListAndWatch } = devicePluginService;
    const options = this.#unary((_call, { service }) => {
      const { preStartRequired, preferredAllocationAvailable: getPreferredAllocationAvailable } = service.options();
      return { bytes: DevicePluginOptions.encode({ preStartRequired, getPreferredAllocationAvailable }) };
    });
    this.#door.serveBytes([
      [GetDevicePluginOptions, options],
      ...(['Allocate', 'GetPreferredAllocation', 'PreStartContainer'] as const).map(
        (method) => [devicePluginService[method], this.#unary(passed(method))] as const,
      ),
      [ListAndWatch, (call: ServerWritableStream<RequestBytes, Buffer>) => this.#watch(call)],
    ]);
    const info = this.#unary((_call, { resource, service }) =>
      service.isOffered ? infoOf(resource) : notOffered(resource),
    );
    this.#door.serveBytes([
      [registrationService.GetInfo, info],
      [
        registrationService.NotifyRegistrationStatus,
        this.#unary(() => ({ bytes: RegistrationStatusResponse.encode({}) })),
      ],
    ]);
  }

  #unary(answer: Unary) {
    return async (call: ServerUnaryCall<RequestBytes, Buffer>, done: sendUnaryData<Buffer>): Promise<void> => {
      const fronted = this.#frontedOf(call);
      const outcome =
        fronted === undefined
          ? { status: GRPC_STATUS.UNAVAILABLE, message: 'the connection has gone' }
          : await answer(call, fronted);
      if ('bytes' in outcome) done(null, outcome.bytes);
      else {
        const failure: { code: number; details: string } = { code: outcome.status, details: outcome.message };
        done(failure);
      }
    };
  }

  #watch(call: ServerWritableStream<RequestBytes, Buffer>): void {
    const fronted = this.#frontedOf(call);
    if (fronted === undefined) {
      call.end();
      return;
    }
    const stream = new ListWriter(call);
    const ended = fronted.service.watch(stream);
    call.on('cancelled', ended);
    call.on('error', ended);
    call.on('close', ended);
  }

  #frontedOf(call: { readonly metadata: object }): Fronted | undefined {
    const connection = this.#door.connectionOf(call.metadata);
    return connection === undefined ? undefined : this.#fronted.get(connection);
  }
}

/** The answer of socket B to the kubelet's registry. */
function infoOf(name: string): FrontAnswer {
  const supportedVersions = [DEVICE_PLUGIN_VERSION];
  return { bytes: PluginInfo.encode({ type: DEVICE_PLUGIN, name, endpoint: '', supportedVersions }) };
}

function notOffered(resource: string): FrontAnswer {
  return { status: GRPC_STATUS.UNAVAILABLE, message: `${resource}: the broker has no devices of it now` };
}

/** Writes lists as fast as they are read: of those that wait, only the newest counts. */
class ListWriter implements ListOut {
  readonly #call: ServerWritableStream<RequestBytes, Buffer>;
  #next: Buffer | undefined;
  #isFull = false;
  #isEnding = false;

  constructor(call: ServerWritableStream<RequestBytes, Buffer>) {
    this.#call = call;
    call.on('drain', () => {
      this.#isFull = false;
      this.#pump();
    });
  }

  send(list: Buffer): void {
    if (this.#isEnding) return;
    this.#next = list;
    this.#pump();
  }

  end(): void {
    this.#isEnding = true;
    this.#pump();
  }

  #pump(): void {
    if (this.#isFull) return;
    const list = this.#next;
    this.#next = undefined;
    if (list !== undefined) this.#isFull = !this.#call.write(list);
    if (this.#isEnding && !this.#isFull) this.#call.end();
  }
}
