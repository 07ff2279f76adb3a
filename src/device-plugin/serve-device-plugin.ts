// A device plugin that survives the restart of its registry, for authors: each habit here is a scenario of `verify`.
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Server, UntypedServiceImplementation } from '@grpc/grpc-js';
import { devicePluginService, RegisterRequest } from '../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { registrationService } from '../generated/proto/pluginregistration/v1/pluginregistration.js';
import { backoffMs } from '../kernel/backoff.js';
import { asError } from '../kernel/clock.js';
import { DEVICE_PLUGIN, DEVICE_PLUGIN_VERSION } from '../model/ids.js';
import { answersOf, optionsOf } from './answers.js';
import type { ListCall } from './list-stream.js';
import type { Device, DevicePluginEvent, DevicePluginOptions, DevicePluginServer, Health } from './plugin-api.js';
import { PluginLife, type Served } from './plugin-life.js';
import { PluginServer } from './plugin-server.js';
import { ToldLists } from './told-lists.js';

const KUBELET = '/var/lib/kubelet';
/** How long streams have to take leave of their readers. */
const GRACE_MS = 300;
/** A Register call of a kubelet answers at once, of a broker within its budget of 10 s. */
const REGISTER_MS = 30_000;
/** Events of files may be lost: this often is looked. */
const LOOK_MS = 5_000;
const RETRY = { firstMs: 250, maxMs: 30_000 };
/** Longer than `flood.register.interval` of the broker. */
const LOSS_PAUSE_MS = 3_000;
const MIN_INTERVAL_MS = 100;
/** Of a resource's name, in its socket's: the path of a socket has 107 bytes. */
const LONGEST_NAME = 40;

/**
 * Serves a device plugin and keeps it registered, until it is stopped. It never ends the process.
 *
 * @returns when its socket answers, whether there is a registry or not; where the directory is missing, it waits for it
 * @throws TypeError for options that no kubelet takes, Error when the socket cannot be made, the signal's reason
 */
export async function serveDevicePlugin(options: DevicePluginOptions): Promise<DevicePluginServer> {
  options.signal?.throwIfAborted();
  const plugin = new Plugin(options);
  await plugin.start();
  return plugin;
}

class Plugin implements DevicePluginServer {
  readonly resource: string;
  readonly registered: Promise<void>;
  readonly #options: DevicePluginOptions;
  readonly #lists: ToldLists;
  readonly #answers: UntypedServiceImplementation;
  readonly #life: PluginLife;
  readonly #stopping = new AbortController();
  readonly #first = { resolve: (): void => undefined, reject: (_: Error): void => undefined };
  readonly #onAbort = (): void => void this.stop();
  #isUp: () => void = () => undefined;
  #server: PluginServer | undefined;
  #socket = '';
  #state: DevicePluginServer['state'] = 'serving';
  #stopped: Promise<void> | undefined;
  /** The code of the error that was told last because it cannot serve; empty while it does. */
  #problem = '';

  constructor(options: DevicePluginOptions) {
    const { resource, devices, door = 'register', retry } = options;
    if (!/^[^/\s]+\/[^/\s]+$/.test(resource)) {
      throw new TypeError(`a resource is named vendor.example/thing, and not "${resource}"`);
    }
    this.resource = resource;
    this.#options = options;
    this.#lists = new ToldLists(options.minIntervalMs ?? MIN_INTERVAL_MS, (event) => this.#tell(event));
    if (typeof devices !== 'function') this.#lists.set(devices);
    // Once for all sockets: they follow the signal, and a plugin may serve on ever new ones.
    this.#answers = answersOf({
      options,
      has: (id) => this.#lists.has(id),
      stopped: this.#stopping.signal,
      failed: (error) => this.#tell({ kind: 'error', error }),
    }) as UntypedServiceImplementation;
    this.registered = new Promise((resolve, reject) => Object.assign(this.#first, { resolve, reject }));
    // A caller that does not wait for it learns of its failure from the state.
    this.registered.catch(() => undefined);
    const directory =
      options.directory ?? path.join(KUBELET, door === 'register' ? 'device-plugins' : 'plugins_registry');
    const bounds = { ...RETRY, ...retry };
    this.#life = new PluginLife(
      {
        door,
        directory,
        kubeletSocket: path.join(directory, 'kubelet.sock'),
        newName: () => options.socketName ?? socketName(resource),
        request: (endpoint) =>
          RegisterRequest.encode({
            version: DEVICE_PLUGIN_VERSION,
            endpoint,
            resourceName: resource,
            options: optionsOf(options),
          }),
        registerTimeout: REGISTER_MS,
        serveDelay: 0,
        watch: ['create', 'own-socket', 'poll'],
        pollEvery: LOOK_MS,
        onRegistryEvent: 'register',
        onRefused: 'retry',
        onNotifyFalse: 'retry',
        fresh: false,
        exitCode: 0,
        pauseAfterLosses: LOSS_PAUSE_MS,
        pauseAfter: (failures) => backoffMs(failures, bounds, Math.random()),
      },
      this.#served(),
      {
        registryEvent: (what) => {
          if (what === 'notify-false') this.#tell({ kind: 'registry-event', what });
          else
            this.#tell({ kind: 'registry-event', what: what === 'own-socket-lost' ? 'socket-gone' : 'kubelet-sock' });
        },
        registered: (outcome, ms, retryInMs = 0) => {
          if (outcome.kind === 'registered') this.#accepted(ms);
          else if (outcome.kind === 'refused') this.#refused(outcome.code, outcome.details, retryInMs);
          else this.#state = 'serving';
        },
        cannotServe: (_, error) => this.#cannotServe(error),
        hanging: () => undefined,
      },
    );
  }

  get socket(): string {
    return this.#socket;
  }

  get devices(): readonly Device[] {
    return this.#lists.devices;
  }

  get state(): DevicePluginServer['state'] {
    return this.#state;
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const { signal, devices } = this.#options;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (typeof devices === 'function') void this.#follow(devices);
    let hasServed = false;
    await new Promise<void>((resolve, reject) => {
      this.#isUp = () => {
        hasServed = true;
        resolve();
      };
      this.#life.run().then(
        () => reject(asError(signal?.reason ?? new Error('it was stopped before it served'))),
        async (failure: unknown) => {
          await this.stop();
          if (hasServed) this.#tell({ kind: 'error', error: asError(failure) });
          reject(asError(failure));
        },
      );
    });
  }

  setDevices(devices: readonly Device[]): void {
    this.#lists.set(devices);
  }

  setHealth(id: string, health: Health): void {
    if (!this.#lists.has(id)) throw new RangeError(`${this.resource} has no device ${id}`);
    this.#lists.set(this.#lists.devices.map((device) => (device.id === id ? { ...device, health } : device)));
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#halt());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** The server as the plugin's life uses it. */
  #served(): Served {
    const [server, close] = [(): PluginServer | undefined => this.#server, (): Promise<void> => this.#close(false)];
    return {
      get isServing(): boolean {
        return server() !== undefined;
      },
      isLost: () => this.#server?.isInPlace() === false,
      serve: async (socket) => {
        this.#server = await PluginServer.listen(socket, (its) => this.#attach(its));
        this.#socket = socket;
        this.#state = 'serving';
        this.#problem = '';
        this.#isUp();
      },
      stop: close,
    };
  }

  async #halt(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#stopping.abort(new Error('the plugin was stopped'));
    this.#life.end();
    await this.#close(true);
    this.#state = 'stopped';
    this.#first.reject(new Error(`${this.resource} was stopped before it was registered`));
  }

  async #close(isGoodbye: boolean): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await this.#lists.end(isGoodbye, GRACE_MS);
    await server?.close({ graceMs: GRACE_MS });
  }

  async #follow(source: (signal: AbortSignal) => AsyncIterable<readonly Device[]>): Promise<void> {
    const { signal } = this.#stopping;
    try {
      for await (const devices of source(signal)) {
        if (signal.aborted) return;
        this.#lists.set(devices);
      }
      await this.stop();
    } catch (thrown) {
      if (signal.aborted) return;
      this.#tell({ kind: 'error', error: asError(thrown) });
      // Nobody knows any more how they are.
      this.#lists.set(this.#lists.devices.map((device) => ({ ...device, health: 'Unhealthy' })));
    }
  }

  #attach(server: Server): void {
    const { ListAndWatch, ...unary } = devicePluginService;
    const definition = { ...unary, ListAndWatch: { ...ListAndWatch, responseSerialize: (list: Buffer) => list } };
    server.addService(definition, { ...this.#answers, ListAndWatch: (call: ListCall) => this.#lists.open(call) });
    if (this.#options.door !== 'watcher') return;
    server.addService(registrationService, {
      GetInfo: (_: unknown, reply: (failure: null, info: object) => void) =>
        reply(null, {
          type: DEVICE_PLUGIN,
          name: this.resource,
          endpoint: '',
          supportedVersions: [DEVICE_PLUGIN_VERSION],
        }),
      NotifyRegistrationStatus: (
        { request }: { request: { pluginRegistered: boolean; error: string } },
        reply: (failure: null, answer: object) => void,
      ) => {
        reply(null, {});
        if (request.pluginRegistered) return this.#accepted(0);
        this.#refused(0, request.error, 0);
        this.#life.notifiedFalse();
      },
    });
  }

  #accepted(ms: number): void {
    this.#state = 'registered';
    this.#first.resolve();
    this.#tell({ kind: 'registered', ms });
  }

  #refused(code: number, message: string, retryInMs: number): void {
    this.#state = 'refused';
    this.#tell({ kind: 'refused', code, message, retryInMs });
  }

  /** Tells a failure once, though serving is tried several times a second. Each try names another temporary socket. */
  #cannotServe(error: NodeJS.ErrnoException): void {
    const problem = error.code ?? error.message;
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#tell({ kind: 'error', error });
  }

  #tell(event: DevicePluginEvent): void {
    try {
      this.#options.on?.(event);
    } catch {
      // An exception of the author's listener is the author's.
    }
  }
}

function socketName(resource: string): string {
  const name = resource.replaceAll(/[^\w.-]+/g, '_').slice(0, LONGEST_NAME);
  return `${name}-${randomBytes(4).toString('hex')}.sock`;
}
