// The living half of a simulated device plugin: the life of a device plugin with the habits that it is told, and its end.
import path from 'node:path';
import { PluginLife, type Habits } from '../../device-plugin/plugin-life.js';
import type { SimLog } from '../sim-log.js';
import type { DeviceSimOptions } from './options.js';
import { loadDevicePluginApi, SimulatedPlugin, type DevicePluginApi } from './simulated-plugin.js';

/** The exit code of a Go program that panics. */
const PANIC = 2;

/** How a simulation ended: its exit code, and whether it is to die on the spot, as a killed process does. */
export interface SimEnd {
  readonly code: number;
  readonly isAbrupt: boolean;
}

/** One life of a simulated plugin. */
export class DeviceSim {
  readonly #options: DeviceSimOptions;
  readonly #log: SimLog;
  readonly #plugin: SimulatedPlugin;
  readonly #life: PluginLife;
  readonly #timers: NodeJS.Timeout[] = [];
  #end: (end: SimEnd) => void = () => undefined;

  constructor(options: DeviceSimOptions, log: SimLog) {
    this.#options = options;
    this.#log = log;
    const api = loadDevicePluginApi();
    this.#plugin = new SimulatedPlugin(options, api, {
      say: (event, facts) => log.say(event, facts),
      onCrash: () => this.#finish(PANIC, true),
      onNotifyFalse: () => this.#life.notifiedFalse(),
    });
    this.#life = new PluginLife(habitsOf(options, api), this.#plugin, {
      registryEvent: (what) => log.say('cue', { what }),
      registered: ({ kind, ...facts }, ms) => log.say(kind, { resource: options.resource, ...facts, ms }),
      cannotServe: (socket, { message }) => log.say('cannot-serve', { socket, error: message }),
      hanging: () => log.say('hanging'),
    });
  }

  /** Lives until the signal aborts, or until it ends by itself. */
  async run(signal: AbortSignal): Promise<SimEnd> {
    const ended = new Promise<SimEnd>((resolve) => (this.#end = resolve));
    const onAbort = (): void => this.#finish(0, this.#options.leave === 'abrupt');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#startTimers();
    this.#life.run().then(
      (code) => this.#finish(code ?? 0, false),
      (failure: unknown) => {
        this.#log.say('failed', { error: failure instanceof Error ? failure.message : String(failure) });
        this.#finish(1, false);
      },
    );
    const end = await ended;
    signal.removeEventListener('abort', onAbort);
    for (const timer of this.#timers) clearInterval(timer);
    this.#log.say('leaving', { code: end.code, style: end.isAbrupt ? 'abrupt' : this.#options.leave });
    if (!end.isAbrupt) await this.#plugin.stop(this.#options.leave === 'goodbye');
    return end;
  }

  /** The first end counts. */
  #finish(code: number, isAbrupt: boolean): void {
    this.#end({ code, isAbrupt });
    this.#life.end();
  }

  #startTimers(): void {
    const { flap, updateEvery, exitAfter, exitCode, leave } = this.#options;
    // The first one keeps a process alive that hangs without a socket.
    this.#timers.push(setInterval(() => undefined, 60_000));
    if (flap !== undefined) this.#timers.push(setInterval(() => this.#plugin.flap(), flap));
    if (updateEvery !== undefined && updateEvery > 0) {
      this.#timers.push(setInterval(() => this.#plugin.update(), updateEvery));
    }
    if (exitAfter !== undefined) {
      this.#timers.push(setTimeout(() => this.#finish(exitCode, leave === 'abrupt'), exitAfter));
    }
  }
}

function habitsOf(options: DeviceSimOptions, api: DevicePluginApi): Habits {
  const { door, dir, registry, apiVersion, resource, endpoint, preStart, preferredAllocation, retry } = options;
  const { requestSerialize } = api['v1beta1.Registration'].Register;
  return {
    ...options,
    onRegistryEvent: options.onCue,
    kubeletSocket: options.kubeletSocket ?? path.join(dir, 'kubelet.sock'),
    directory: door === 'register' ? dir : registry,
    newName: socketNames(options),
    pauseAfterLosses: 0,
    pauseAfter: () => retry,
    request: (name) =>
      requestSerialize({
        version: apiVersion,
        endpoint: endpoint ?? name,
        resourceName: resource,
        options: { preStartRequired: preStart, getPreferredAllocationAvailable: preferredAllocation },
      }),
  };
}

function socketNames({ socketName, resource }: DeviceSimOptions): () => string {
  const name = socketName ?? `${resource.replaceAll(/[^\w.-]+/g, '_')}.sock`;
  let sockets = 0;
  return () => {
    const values = { pid: process.pid, time: Date.now(), n: ++sockets };
    return name.replaceAll(/\{(pid|time|n)\}/g, (_, key: keyof typeof values) => String(values[key]));
  };
}
