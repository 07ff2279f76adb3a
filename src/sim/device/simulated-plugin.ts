// The serving half of a simulated device plugin: its services, its list streams, its sockets.
import type { Server } from '@grpc/grpc-js';
import { PluginServer } from '../../device-plugin/plugin-server.js';
import { loadServices, type LoadedService } from '../protos.js';
import { attachRegistration, disturbed, type ServiceHooks } from '../registration-service.js';
import type { SimFacts } from '../sim-log.js';
import { Allocation, type AllocationRequest } from './allocation.js';
import { DeviceSet } from './device-set.js';
import { Faults, type CallFault } from './faults.js';
import { ListStream, type ListCall } from '../../device-plugin/list-stream.js';
import type { DeviceSimOptions } from './options.js';

/** How long streams have to take leave of their readers. */
const GRACE_MS = 300;
/** Device ids in one line of the log. */
const MOST_IDS_TOLD = 64;

/** The listeners of the plugin's observations. */
export interface PluginHooks {
  readonly say: (event: string, facts?: SimFacts) => void;
  /** A second ListAndWatch came and `secondWatch` is crash. */
  readonly onCrash: () => void;
  /** NotifyRegistrationStatus said no. */
  readonly onNotifyFalse: () => void;
}

/** The services of the device plugin API. */
export interface DevicePluginApi {
  readonly 'v1beta1.Registration': LoadedService<'Register'>;
  readonly 'v1beta1.DevicePlugin': LoadedService<'ListAndWatch'>;
}

/** Loads the services of the device plugin API. */
export function loadDevicePluginApi(): DevicePluginApi {
  return loadServices('deviceplugin/v1beta1/deviceplugin.proto', {
    'v1beta1.Registration': ['Register'],
    'v1beta1.DevicePlugin': ['ListAndWatch'],
  });
}

/** A plugin that serves, or not. */
export class SimulatedPlugin {
  readonly #options: DeviceSimOptions;
  readonly #hooks: PluginHooks;
  readonly #api: DevicePluginApi;
  readonly #devices: DeviceSet;
  readonly #allocation: Allocation;
  readonly #faults: Faults;
  readonly #streams = new Set<ListStream>();
  #servers: PluginServer[] = [];
  #watches = 0;

  constructor(options: DeviceSimOptions, api: DevicePluginApi, hooks: PluginHooks) {
    this.#options = options;
    this.#api = api;
    this.#hooks = hooks;
    this.#faults = new Faults(options.fault);
    const { responseSerialize } = api['v1beta1.DevicePlugin'].ListAndWatch;
    this.#devices = new DeviceSet(options, (device) => responseSerialize({ devices: [device] }));
    this.#allocation = new Allocation(options, (id) => this.#devices.has(id));
  }

  /** Whether it serves, but its socket is not where it was bound. */
  isLost(): boolean {
    return this.#servers.some((server) => !server.isInPlace());
  }

  /** Whether it serves. */
  get isServing(): boolean {
    return this.#servers.length > 0;
  }

  /**
   * Serves on a new socket.
   *
   * @throws Error when a socket cannot be bound
   */
  async serve(socket: string): Promise<void> {
    const { door, serviceSocket, speak } = this.#options;
    this.#watches = 0;
    if (door === 'watcher' && serviceSocket !== undefined) {
      this.#servers.push(await PluginServer.listen(serviceSocket, (server) => this.#attachDevices(server), speak));
    }
    const attach = (server: Server): void => {
      if (door === 'register' || serviceSocket === undefined) this.#attachDevices(server);
      if (door === 'watcher') this.#attachRegistration(server, serviceSocket ?? '');
    };
    this.#servers.push(await PluginServer.listen(socket, attach, speak));
    this.#hooks.say('serving', { socket });
  }

  /** Stops serving, with a last empty list first when it says goodbye. */
  async stop(goodbye = false): Promise<void> {
    if (goodbye) await Promise.all([...this.#streams].map((stream) => stream.goodbye(Buffer.alloc(0), GRACE_MS)));
    for (const stream of this.#streams) stream.end();
    const servers = this.#servers;
    this.#servers = [];
    await Promise.all(servers.map((server) => server.close({ graceMs: GRACE_MS })));
  }

  /** The first devices change their health, and everybody is told. */
  flap(): void {
    this.#devices.flap(this.#options.flapDevices);
    this.#tell();
  }

  /** Sends the next list of an update flood that has a pace. */
  update(): void {
    this.#tell(this.#nextList());
  }

  #tell(list = this.#devices.list()): void {
    for (const stream of this.#streams) stream.offer(list);
  }

  #nextList(): Buffer {
    if (this.#options.updates === 'changed') this.#devices.change();
    return this.#devices.list();
  }

  #attachDevices(server: Server): void {
    const { preStart, preferredAllocation } = this.#options;
    const options = { preStartRequired: preStart, getPreferredAllocationAvailable: preferredAllocation };
    server.addService(this.#api['v1beta1.DevicePlugin'], {
      GetDevicePluginOptions: this.#unary('GetDevicePluginOptions', () => options),
      ListAndWatch: (call: ListCall) => void this.#listAndWatch(call),
      GetPreferredAllocation: this.#unary('GetPreferredAllocation', (request) => this.#allocation.preferred(request)),
      Allocate: this.#unary('Allocate', (request) => this.#allocation.allocated(request)),
      PreStartContainer: this.#unary('PreStartContainer', (request) => this.#allocation.started(request)),
    });
  }

  #attachRegistration(server: Server, serviceSocket: string): void {
    const { pluginType, resource, endpoint, apiVersion, onNotifyFalse } = this.#options;
    attachRegistration(server, this.#service, {
      info: {
        type: pluginType,
        name: resource,
        endpoint: endpoint ?? serviceSocket,
        supportedVersions: apiVersion.split(','),
      },
      onRefusal: 'answer',
      onNotifyFalse: this.#hooks.onNotifyFalse,
      then: onNotifyFalse,
    });
  }

  #unary(method: string, answer: (request: Record<string, unknown>) => object) {
    return disturbed(method, this.#service, answer, devicesOf);
  }

  get #service(): ServiceHooks {
    return { faults: this.#faults, say: this.#hooks.say };
  }

  async #listAndWatch(call: ListCall): Promise<void> {
    this.#watches++;
    const nth = this.#watches;
    const stream = new ListStream(call, {
      queue: this.#options.queue,
      endAfter: this.#options.endStreamAfter,
      onSent: (list, number) => this.#hooks.say('list-sent', { ...this.#summary(list), nth: number }),
      onEnd: (how, lists) => {
        this.#streams.delete(stream);
        this.#hooks.say('stream-ended', { how, lists, open: this.#streams.size });
      },
    });
    this.#streams.add(stream);
    this.#hooks.say('list-and-watch-opened', { nth, open: this.#streams.size });
    if (nth > 1 && this.#options.secondWatch === 'crash') {
      this.#hooks.onCrash();
      return;
    }
    try {
      const garbage = await this.#faults.before('ListAndWatch');
      stream.offer(garbage ?? this.#devices.list());
      if (this.#options.updateEvery === 0) stream.flood(() => this.#nextList());
    } catch (failure) {
      stream.end(failure as CallFault);
    }
  }

  #summary(list: Buffer): SimFacts {
    return list.length === 0
      ? { devices: 0, healthy: 0, bytes: 0 }
      : { devices: this.#devices.count, healthy: this.#devices.healthy, bytes: list.length };
  }
}

/** The devices that a call names, for the log: of many, the first. */
function devicesOf(request: AllocationRequest): SimFacts {
  const ids = [
    ...(request.devicesIds ?? []),
    ...(request.containerRequests ?? []).flatMap((one) => one.devicesIds ?? []),
  ];
  return ids.length === 0 ? {} : { devices: ids.slice(0, MOST_IDS_TOLD) };
}
