// The living half of a simulated device plugin: when it registers, what makes it register again, and how it ends.
import path from 'node:path';
import { identityOf } from '../plugin-server.js';
import type { SimLog } from '../sim-log.js';
import { WakeUp } from './wake-up.js';
import { RegistryWatch, type Cue } from './registry-watch.js';
import type { DeviceSimOptions } from './options.js';
import { registerOnce } from './register.js';
import { loadDevicePluginApi, SimulatedPlugin } from './simulated-plugin.js';

/** How soon a socket that could not be bound is tried again, at least. */
const BIND_AGAIN_MS = 100;
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
  readonly #kubeletSocket: string;
  readonly #api = loadDevicePluginApi();
  readonly #plugin: SimulatedPlugin;
  readonly #wakeUp = new WakeUp<Cue | 'notify-false'>();
  readonly #stopping = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  #end: (end: SimEnd) => void = () => undefined;
  #watch: RegistryWatch | undefined;
  #name = '';
  #sockets = 0;
  #registrations = 0;
  /** The kubelet socket that this very socket is registered with. */
  #registeredWith: string | undefined;

  constructor(options: DeviceSimOptions, log: SimLog) {
    this.#options = options;
    this.#log = log;
    this.#kubeletSocket = options.kubeletSocket ?? path.join(options.dir, 'kubelet.sock');
    this.#plugin = new SimulatedPlugin(options, this.#api, {
      say: (event, facts) => log.say(event, facts),
      onCrash: () => this.#finish(PANIC, true),
      onNotifyFalse: () => this.#wakeUp.ring('notify-false'),
    });
  }

  /** Lives until the signal aborts, or until it ends by itself. */
  async run(signal: AbortSignal): Promise<SimEnd> {
    const ended = new Promise<SimEnd>((resolve) => (this.#end = resolve));
    const onAbort = (): void => this.#finish(0, this.#options.leave === 'abrupt');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#startTimers();
    this.#live().catch((failure: unknown) => {
      this.#log.say('failed', { error: failure instanceof Error ? failure.message : String(failure) });
      this.#finish(1, false);
    });
    const end = await ended;
    signal.removeEventListener('abort', onAbort);
    for (const timer of this.#timers) clearInterval(timer);
    this.#watch?.stop();
    this.#log.say('leaving', { code: end.code, style: end.isAbrupt ? 'abrupt' : this.#options.leave });
    if (!end.isAbrupt) await this.#plugin.stop(this.#options.leave === 'goodbye');
    return end;
  }

  #finish(code: number, isAbrupt: boolean): void {
    this.#stopping.abort();
    this.#wakeUp.end();
    this.#end({ code, isAbrupt });
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

  async #live(): Promise<void> {
    const { door, serveDelay } = this.#options;
    if (door === 'watcher' || serveDelay === 0) await this.#serve();
    else this.#newName();
    this.#startWatch();
    while (!this.#wakeUp.isOver) {
      const pause = door === 'register' ? await this.#register() : this.#pauseAfterSuccess();
      await this.#untilAgain(pause);
    }
  }

  /** Returns when it is time to register again. */
  async #untilAgain(pause: number | undefined): Promise<void> {
    const { onCue, exitCode, fresh, door } = this.#options;
    for (;;) {
      const cue = await this.#wakeUp.wait(pause);
      if (this.#wakeUp.isOver) return;
      if (cue === undefined) {
        if (fresh || door === 'watcher' || this.#plugin.isLost()) await this.#serve();
        return;
      }
      this.#log.say('cue', { what: cue });
      if (cue === 'notify-false') return this.#afterNotifyFalse();
      if (!this.#plugin.isLost() && this.#isRegistered()) continue;
      if (onCue === 'exit') this.#finish(exitCode, false);
      else if (onCue === 'restart' || this.#plugin.isLost()) await this.#serve();
      return;
    }
  }

  /** Whether a cue is an old one: this socket is already registered with the kubelet socket that is there now. */
  #isRegistered(): boolean {
    if (this.#options.door === 'watcher') return true;
    return this.#registeredWith !== undefined && this.#registeredWith === identityOf(this.#kubeletSocket);
  }

  async #afterNotifyFalse(): Promise<void> {
    const { onNotifyFalse, retry } = this.#options;
    if (onNotifyFalse === 'exit') this.#finish(1, false);
    else if (onNotifyFalse === 'hang') await this.#hang();
    else {
      await this.#wakeUp.wait(retry);
      await this.#serve();
    }
  }

  /** Registers once and returns the pause until the next time; undefined: until something happens. */
  async #register(): Promise<number | undefined> {
    const { registerTimeout, onRefused, retry, serveDelay } = this.#options;
    const start = performance.now();
    const target = identityOf(this.#kubeletSocket);
    const { Register } = this.#api['v1beta1.Registration'];
    const { signal } = this.#stopping;
    const outcome = await registerOnce(this.#kubeletSocket, Register, this.#request(), registerTimeout, signal);
    if (this.#wakeUp.isOver) return undefined;
    const { kind, ...facts } = outcome;
    this.#log.say(kind, { resource: this.#options.resource, ...facts, ms: Math.round(performance.now() - start) });
    if (!this.#plugin.isServing) {
      await this.#wakeUp.wait(serveDelay);
      await this.#serve();
    }
    if (outcome.kind === 'registered') {
      this.#registeredWith = target;
      return this.#pauseAfterSuccess();
    }
    if (outcome.kind === 'unreachable') return retry;
    if (onRefused === 'retry') return Math.max(retry, outcome.retryAfterMs);
    if (onRefused === 'exit') this.#finish(1, false);
    else await this.#hang();
    return undefined;
  }

  #pauseAfterSuccess(): number | undefined {
    const { registerEvery, registerCount = Infinity } = this.#options;
    this.#registrations++;
    return this.#registrations < registerCount ? registerEvery : undefined;
  }

  #request(): object {
    const { apiVersion, resource, endpoint, preStart, preferredAllocation } = this.#options;
    return {
      version: apiVersion,
      endpoint: endpoint ?? this.#name,
      resourceName: resource,
      options: { preStartRequired: preStart, getPreferredAllocationAvailable: preferredAllocation },
    };
  }

  /** Serves on a new socket in the place of the old one; a directory that is not there yet is waited for. */
  async #serve(): Promise<void> {
    await this.#plugin.stop();
    this.#registeredWith = undefined;
    const socket = path.join(this.#directory(), this.#newName());
    while (!this.#wakeUp.isOver) {
      try {
        await this.#plugin.serve(socket);
        return;
      } catch (failure) {
        const { code, message } = failure as NodeJS.ErrnoException;
        if (code === undefined) throw failure;
        this.#log.say('cannot-serve', { socket, error: message });
        await this.#plugin.stop();
        await this.#wakeUp.wait(Math.max(BIND_AGAIN_MS, this.#options.retry));
      }
    }
  }

  #directory(): string {
    return this.#options.door === 'register' ? this.#options.dir : this.#options.registry;
  }

  #newName(): string {
    const { socketName, resource } = this.#options;
    const name = socketName ?? `${resource.replaceAll(/[^\w.-]+/g, '_')}.sock`;
    const values = { pid: process.pid, time: Date.now(), n: ++this.#sockets };
    this.#name = name.replaceAll(/\{(pid|time|n)\}/g, (_, key: keyof typeof values) => String(values[key]));
    return this.#name;
  }

  #startWatch(): void {
    const isRegisterDoor = this.#options.door === 'register';
    const watch = this.#options.watch.filter((style) => isRegisterDoor || style === 'own-socket' || style === 'poll');
    this.#watch = new RegistryWatch(
      { kubeletSocket: this.#kubeletSocket, ownDirectory: this.#directory(), isOwnLost: () => this.#plugin.isLost() },
      { watch, pollEvery: this.#options.pollEvery },
      (cue) => this.#wakeUp.ring(cue),
    );
  }

  /** Serves no more, does nothing more, and stays. */
  async #hang(): Promise<void> {
    this.#log.say('hanging');
    await this.#plugin.stop();
    while (!this.#wakeUp.isOver) await this.#wakeUp.wait();
  }
}
