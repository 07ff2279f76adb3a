import path from 'node:path';
import {
  Client,
  credentials,
  type sendUnaryData,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
} from '@grpc/grpc-js';
import { DEVICE_PLUGIN_VERSION } from '../../src/model/ids.js';
import {
  type AllocateRequest,
  type ContainerAllocateResponse,
  devicePluginService,
  ListAndWatchResponse,
  type PreferredAllocationRequest,
  registrationService,
} from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { nodeService } from '../../src/generated/proto/csi/v1/csi.js';
import { registrationService as pluginRegistrationService } from '../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import type { GivenMessage, Message } from '../../src/platform/wire/table.js';
import { PluginServer, type Speech } from '../../src/device-plugin/plugin-server.js';

/** A device as a test writes it. */
export type FakeDevice = NonNullable<GivenMessage<typeof ListAndWatchResponse>['devices']>[number];

/** Calls of a plugin that can be counted and hooked. */
export type FakeMethod =
  keyof typeof devicePluginService | keyof typeof pluginRegistrationService | keyof typeof nodeService;

/** An error that a hook throws to end a call with a status. */
export class FakeStatus extends Error {
  readonly code: number;
  constructor(code: number, details = 'said the fake plugin') {
    super(details);
    this.code = code;
  }
}

/** The traits of a fake plugin. */
export interface FakePluginOptions {
  /** Absolute path of its socket. */
  readonly socket: string;
  /** Its resource, `example.com/fake` unless named. */
  readonly resource?: string;
  /** Two healthy devices unless given. */
  readonly devices?: readonly FakeDevice[];
  /** Also serves pluginregistration.Registration on the same socket. */
  readonly door?: 'register' | 'watcher';
  /** Differences to the usual answer of GetInfo. */
  readonly info?: {
    readonly type?: string;
    readonly endpoint?: string;
    readonly supportedVersions?: readonly string[];
  };
  /** Also serves csi.v1.Node: the id that NodeGetInfo answers. */
  readonly nodeId?: string;
  /** Hears of each NotifyRegistrationStatus: its error, an empty one means registered. */
  readonly told?: (error: string) => void;
  readonly options?: { readonly preStartRequired?: boolean; readonly getPreferredAllocationAvailable?: boolean };
  /** Runs before a call is answered: waits to delay it, throws FakeStatus to fail it, never settles to hang it. */
  readonly hook?: (method: FakeMethod) => Promise<void> | void;
  /** Answers Allocate for these devices: what stands in the answer for the container; undefined for no container. */
  readonly allocate?: (ids: readonly string[]) => GivenMessage<typeof ContainerAllocateResponse> | undefined;
  /** Answers GetPreferredAllocation. */
  readonly preferred?: (
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ) => readonly string[];
  /** The protocol that answers connections, gRPC unless said. */
  readonly speech?: Speech;
}

type Allocated = Message<typeof AllocateRequest>;
type Preferred = Message<typeof PreferredAllocationRequest>;
type Stream = ServerWritableStream<unknown, GivenMessage<typeof ListAndWatchResponse> | Buffer>;

/** Sends prepared bytes as they are: a list can be sent to 500 streams, or undecodable bytes to one. */
const SERVICE = {
  ...devicePluginService,
  ListAndWatch: {
    ...devicePluginService.ListAndWatch,
    responseSerialize: (value: GivenMessage<typeof ListAndWatchResponse> | Buffer): Buffer =>
      Buffer.isBuffer(value) ? value : ListAndWatchResponse.encode(value),
  },
};

/** Healthy devices with the given ids. */
export const healthy = (...ids: string[]): FakeDevice[] => ids.map((id) => ({ id, health: 'Healthy' }));

/** A device plugin inside the test's process, light enough to start hundreds of. */
export class FakePlugin {
  readonly socket: string;
  readonly resource: string;
  /** Calls so far. */
  readonly calls = new Map<FakeMethod, number>();
  /** The errors of NotifyRegistrationStatus, in order; an empty one means registered. */
  readonly notified: string[] = [];
  /** The devices of each Allocate, in order. */
  readonly allocated: (readonly string[])[] = [];
  readonly #options: FakePluginOptions;
  readonly #streams = new Set<Stream>();
  #devices: readonly FakeDevice[];
  #server: PluginServer | undefined;

  constructor(options: FakePluginOptions) {
    this.#options = options;
    this.socket = options.socket;
    this.resource = options.resource ?? 'example.com/fake';
    this.#devices = options.devices ?? healthy('dev-0', 'dev-1');
  }

  /** Serves; does not register. */
  static async start(options: FakePluginOptions): Promise<FakePlugin> {
    const plugin = new FakePlugin(options);
    await plugin.serve();
    return plugin;
  }

  /** Serves, after a stop on a new socket of the same path. */
  async serve(): Promise<void> {
    this.#server = await PluginServer.listen(this.socket, (server) => this.#attach(server), this.#options.speech);
  }

  /** Open list streams. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Open connections. */
  get connections(): number {
    return this.#server?.connections ?? 0;
  }

  /** How often a method was called. */
  count(method: FakeMethod): number {
    return this.calls.get(method) ?? 0;
  }

  /** Sends a new list on every open stream, and to streams opened later. */
  setDevices(devices: readonly FakeDevice[]): void {
    this.#devices = devices;
    this.sendBytes(ListAndWatchResponse.encode({ devices }));
  }

  /** Sends a message as it is on every open stream. */
  sendBytes(bytes: Buffer): void {
    for (const stream of this.#streams) stream.write(bytes);
  }

  /** Ends every open stream, well or with an error. */
  endStreams(failure?: FakeStatus): void {
    for (const stream of this.#streams) {
      if (failure === undefined) stream.end();
      else stream.emit('error', failure);
    }
  }

  /** Cuts every connection and goes on listening. */
  cutConnections(): void {
    this.#server?.cutConnections();
  }

  /**
   * Calls Register on a kubelet socket, as a plugin does.
   *
   * @param over differences to the usual request
   * @throws ServiceError when it is refused
   */
  async register(
    kubeletSocket: string,
    over: { readonly version?: string; readonly endpoint?: string; readonly resourceName?: string } = {},
  ): Promise<void> {
    const client = new Client(`unix:${kubeletSocket}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
    });
    const { Register } = registrationService;
    const request = {
      version: DEVICE_PLUGIN_VERSION,
      endpoint: path.basename(this.socket),
      resourceName: this.resource,
      ...over,
    };
    const deadline = Date.now() + 20_000;
    try {
      await new Promise<void>((resolve, reject) => {
        const done = (failure: ServiceError | null): void => (failure === null ? resolve() : reject(failure));
        client.makeUnaryRequest(
          Register.path,
          Register.requestSerialize,
          Register.responseDeserialize,
          request,
          { deadline },
          done,
        );
      });
    } finally {
      client.close();
    }
  }

  /** Stops as a plugin that was asked to, or, with `keepFile`, as one that was killed. */
  async stop({ keepFile = false }: { readonly keepFile?: boolean } = {}): Promise<void> {
    await this.#server?.close({ keepFile });
    this.#streams.clear();
  }

  #attach(server: Server): void {
    server.addService(SERVICE, {
      GetDevicePluginOptions: this.#unary('GetDevicePluginOptions', () => this.#options.options ?? {}),
      ListAndWatch: (stream: Stream) => void this.#listAndWatch(stream),
      GetPreferredAllocation: this.#unary('GetPreferredAllocation', (request) => this.#preferred(request as Preferred)),
      Allocate: this.#unary('Allocate', (request) => this.#allocate(request as Allocated)),
      PreStartContainer: this.#unary('PreStartContainer', () => ({})),
    });
    const { door, nodeId } = this.#options;
    if (nodeId !== undefined) {
      server.addService(nodeService, {
        NodeGetInfo: this.#unary('NodeGetInfo', () => ({ nodeId })),
        NodeGetCapabilities: this.#unary('NodeGetCapabilities', () => ({})),
      });
    }
    if (door !== 'watcher') return;
    const info = {
      type: 'DevicePlugin',
      name: this.resource,
      endpoint: '',
      supportedVersions: [DEVICE_PLUGIN_VERSION],
    };
    server.addService(pluginRegistrationService, {
      GetInfo: this.#unary('GetInfo', () => ({ ...info, ...this.#options.info })),
      NotifyRegistrationStatus: this.#unary('NotifyRegistrationStatus', ({ pluginRegistered, error }) => {
        const why = pluginRegistered === true ? '' : String(error);
        this.notified.push(why);
        this.#options.told?.(why);
        return {};
      }),
    });
  }

  #allocate({ containerRequests }: Allocated): object {
    const answers = containerRequests.map(({ devicesIds }) => {
      this.allocated.push(devicesIds);
      return this.#options.allocate === undefined ? {} : this.#options.allocate(devicesIds);
    });
    return { containerResponses: answers.filter((answer) => answer !== undefined) };
  }

  #preferred({ containerRequests }: Preferred): object {
    const { preferred } = this.#options;
    return {
      containerResponses: containerRequests.map(({ availableDeviceIds, mustIncludeDeviceIds, allocationSize }) => ({
        deviceIds: preferred?.(availableDeviceIds, mustIncludeDeviceIds, allocationSize) ?? [],
      })),
    };
  }

  #unary(method: FakeMethod, answer: (request: Record<string, unknown>) => object) {
    return (call: ServerUnaryCall<Record<string, unknown>, object>, reply: sendUnaryData<object>): void => {
      this.#begin(method).then(
        () => reply(null, answer(call.request)),
        (failure: unknown) => reply(failure as FakeStatus),
      );
    };
  }

  async #listAndWatch(stream: Stream): Promise<void> {
    stream.on('error', () => undefined);
    stream.on('cancelled', () => {
      this.#streams.delete(stream);
      stream.end();
    });
    try {
      await this.#begin('ListAndWatch');
    } catch (failure) {
      stream.emit('error', failure);
      return;
    }
    if (stream.cancelled) return;
    this.#streams.add(stream);
    stream.on('close', () => this.#streams.delete(stream));
    stream.on('finish', () => this.#streams.delete(stream));
    stream.write({ devices: this.#devices });
  }

  async #begin(method: FakeMethod): Promise<void> {
    this.calls.set(method, this.count(method) + 1);
    await this.#options.hook?.(method);
  }
}
