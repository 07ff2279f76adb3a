// The life of a device plugin: it serves, registers, and registers again when its registry was restarted. A plugin that behaves
// (serve-device-plugin.ts) and one that is told not to (`sim device`) differ in their habits.
import path from 'node:path';
import { identityOf } from './plugin-server.js';
import { registerOnce, type RegisterOutcome } from './register.js';
import { RegistryWatch, type RegistryEvent, type WatchStyle } from './registry-watch.js';
import { WakeUp } from './wake-up.js';

/** How soon a socket that could not be bound is tried again, at least. */
const BIND_AGAIN_MS = 100;
/** A refusal can put the next try off by this much at most, since anybody may have answered at kubelet.sock for a moment. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** Sockets that a plugin may lose in a minute, as in restarts of a kubelet, before it takes its time. */
const LOSSES_A_MINUTE = 4;

/** How a plugin lives. Durations are milliseconds. */
export interface Habits {
  readonly door: 'register' | 'watcher';
  readonly kubeletSocket: string;
  /** Where its own socket is. */
  readonly directory: string;
  /** A file name for its next socket. */
  readonly newName: () => string;
  /** An encoded v1beta1.RegisterRequest that names a socket. */
  readonly request: (socketName: string) => Buffer;
  readonly registerTimeout: number;
  /** Serves only this long after registering. */
  readonly serveDelay: number;
  readonly watch: readonly WatchStyle[];
  readonly pollEvery: number;
  readonly onRegistryEvent: 'register' | 'restart' | 'exit';
  readonly onRefused: 'retry' | 'exit' | 'hang';
  readonly onNotifyFalse: 'retry' | 'exit' | 'hang';
  /** The pause before the next try after so many failed ones in a row, from 1; a longer RetryInfo is respected, up to ten minutes. */
  readonly pauseAfter: (failures: number) => number;
  /**
   * The pause before it serves on a new socket when it loses one more often than in restarts of a kubelet: somebody removes it, and a
   * plugin that registers for each removal exceeds the limits of a registry. It goes on serving meanwhile.
   */
  readonly pauseAfterLosses: number;
  /** Registers again and again, so often, on a new socket each time where `fresh`. */
  readonly registerEvery?: number | undefined;
  readonly registerCount?: number | undefined;
  readonly fresh: boolean;
  /** The code of an exit that `onRegistryEvent` asks for. */
  readonly exitCode: number;
}

/** The server on its socket. */
export interface Served {
  readonly isServing: boolean;
  /** Whether it serves, but its socket is not where it was bound. */
  isLost(): boolean;
  /** @throws NodeJS.ErrnoException when the socket cannot be bound */
  serve(socket: string): Promise<void>;
  stop(): Promise<void>;
}

/** The listener of a plugin's life. */
export interface LifeListener {
  readonly registryEvent: (what: RegistryEvent | 'notify-false') => void;
  /** A Register call ended after `ms`. @param retryMs the pause until the next one; undefined where there is none */
  readonly registered: (outcome: RegisterOutcome, ms: number, retryMs: number | undefined) => void;
  readonly cannotServe: (socket: string, failure: Error) => void;
  readonly hanging: () => void;
}

/** One life. */
export class PluginLife {
  readonly #habits: Habits;
  readonly #plugin: Served;
  readonly #tell: LifeListener;
  readonly #wakeUp = new WakeUp<RegistryEvent | 'notify-false'>();
  readonly #stopping = new AbortController();
  #hasServed = false;
  #watch: RegistryWatch | undefined;
  #exit: number | undefined;
  #name = '';
  #registrations = 0;
  #failures = 0;
  /** When its last sockets were lost, and before when a registry said that it takes no call; as performance.now(). */
  #lostAt: readonly number[] = [];
  #notBefore = 0;
  /** The kubelet.sock of the last Register call, and whether somebody answered there. */
  #target: string | undefined;
  #wasAnswered = false;
  /** The kubelet socket that this very socket is registered with. */
  #registeredWith: string | undefined;

  constructor(habits: Habits, plugin: Served, tell: LifeListener) {
    this.#habits = habits;
    this.#plugin = plugin;
    this.#tell = tell;
  }

  /** NotifyRegistrationStatus said no. */
  notifiedFalse(): void {
    this.#wakeUp.ring('notify-false');
  }

  /** Ends it; the server goes on until it is stopped. */
  end(): void {
    this.#stopping.abort();
    this.#wakeUp.end();
    this.#watch?.stop();
  }

  /**
   * Lives until `end`, or until a habit ends it.
   *
   * @returns the exit code that a habit asks for; undefined after `end`
   * @throws Error when it can never serve. One that served before tries again, because the obstacle was not there then
   */
  async run(): Promise<number | undefined> {
    const { door, serveDelay } = this.#habits;
    if (door === 'watcher' || serveDelay === 0) await this.#serve();
    else this.#name = this.#habits.newName();
    this.#startWatch();
    while (!this.#wakeUp.isOver) {
      const pause = door === 'register' ? await this.#register() : this.#pauseAfterSuccess();
      await this.#untilAgain(pause);
    }
    return this.#exit;
  }

  #finish(code: number): void {
    this.#exit = code;
    this.end();
  }

  /** Returns when it is time to register again. */
  async #untilAgain(pause: number | undefined): Promise<void> {
    const { onRegistryEvent, exitCode, fresh, door } = this.#habits;
    for (;;) {
      const event = await this.#wakeUp.wait(pause);
      if (this.#wakeUp.isOver) return;
      if (event === undefined) {
        if (fresh || door === 'watcher' || this.#plugin.isLost()) await this.#serve();
        return;
      }
      this.#tell.registryEvent(event);
      if (event === 'notify-false') return this.#afterNotifyFalse();
      if (!this.#plugin.isLost() && this.#isRegistered()) continue;
      if (onRegistryEvent === 'exit') this.#finish(exitCode);
      else if (onRegistryEvent === 'restart' || this.#plugin.isLost()) {
        if (event === 'own-socket-lost') await this.#restAfterLoss();
        await this.#serve();
      }
      return;
    }
  }

  /** Serves on as long as it is no use to register again; a new kubelet.sock ends that. */
  async #restAfterLoss(): Promise<void> {
    const now = performance.now();
    const { door, kubeletSocket, pauseAfterLosses } = this.#habits;
    this.#lostAt = [...this.#lostAt.filter((at) => now - at < 60_000), now].slice(-LOSSES_A_MINUTE - 1);
    const isOften = (door === 'watcher' || this.#wasAnswered) && this.#lostAt.length > LOSSES_A_MINUTE;
    const isNew = (): boolean => door === 'register' && identityOf(kubeletSocket) !== this.#target;
    const until = Math.max(now + (isOften ? pauseAfterLosses : 0), pauseAfterLosses > 0 ? this.#notBefore : 0);
    for (let leftMs = until - now; leftMs > 0 && !isNew(); leftMs = until - performance.now()) {
      const event = await this.#wakeUp.wait(leftMs);
      if (this.#wakeUp.isOver) return;
      if (event !== undefined && event !== 'own-socket-lost') this.#tell.registryEvent(event);
    }
  }

  /** Whether an event is an old one: this socket is already registered with the kubelet socket that is there now. */
  #isRegistered(): boolean {
    if (this.#habits.door === 'watcher') return true;
    return this.#registeredWith !== undefined && this.#registeredWith === identityOf(this.#habits.kubeletSocket);
  }

  async #afterNotifyFalse(): Promise<void> {
    const { onNotifyFalse, pauseAfter } = this.#habits;
    if (onNotifyFalse === 'exit') this.#finish(1);
    else if (onNotifyFalse === 'hang') await this.#hang();
    else {
      await this.#wakeUp.wait(pauseAfter(++this.#failures));
      await this.#serve();
    }
  }

  /** Registers once and returns the pause until the next time; undefined: until something happens. */
  async #register(): Promise<number | undefined> {
    const { kubeletSocket, request, registerTimeout, serveDelay, onRefused } = this.#habits;
    const start = performance.now();
    const target = identityOf(kubeletSocket);
    const outcome = await registerOnce(kubeletSocket, request(this.#name), registerTimeout, this.#stopping.signal);
    if (this.#wakeUp.isOver) return undefined;
    const ms = Math.round(performance.now() - start);
    this.#failures = outcome.kind === 'registered' ? 0 : this.#failures + 1;
    this.#target = target;
    this.#wasAnswered = outcome.kind !== 'unreachable';
    this.#notBefore = 0;
    const pause = this.#pauseAfter(outcome);
    this.#tell.registered(outcome, ms, pause);
    if (!this.#plugin.isServing) {
      await this.#wakeUp.wait(serveDelay);
      await this.#serve();
    }
    if (outcome.kind === 'registered') this.#registeredWith = target;
    else if (outcome.kind === 'refused' && onRefused === 'exit') this.#finish(1);
    else if (outcome.kind === 'refused' && onRefused === 'hang') await this.#hang();
    return pause;
  }

  #pauseAfter(outcome: RegisterOutcome): number | undefined {
    const { pauseAfter, onRefused } = this.#habits;
    if (outcome.kind === 'registered') return this.#pauseAfterSuccess();
    if (outcome.kind === 'unreachable') return pauseAfter(this.#failures);
    const toldMs = Math.min(outcome.retryAfterMs, LONGEST_RETRY_AFTER_MS);
    if (onRefused !== 'retry') return undefined;
    const pause = Math.max(pauseAfter(this.#failures), toldMs);
    this.#notBefore = performance.now() + pause;
    return pause;
  }

  #pauseAfterSuccess(): number | undefined {
    const { registerEvery, registerCount = Infinity } = this.#habits;
    this.#registrations++;
    return this.#registrations < registerCount ? registerEvery : undefined;
  }

  /** Serves on a new socket in the place of the old one; waits for a directory, and for its name once it served. */
  async #serve(): Promise<void> {
    await this.#plugin.stop();
    this.#registeredWith = undefined;
    this.#name = this.#habits.newName();
    const socket = path.join(this.#habits.directory, this.#name);
    while (!this.#wakeUp.isOver) {
      try {
        await this.#plugin.serve(socket);
        this.#hasServed = true;
        return;
      } catch (failure) {
        if (!this.#hasServed && (failure as NodeJS.ErrnoException).code === undefined) throw failure;
        this.#tell.cannotServe(socket, failure as Error);
        await this.#plugin.stop();
        await this.#wakeUp.wait(Math.max(BIND_AGAIN_MS, this.#habits.pauseAfter(1)));
      }
    }
  }

  #startWatch(): void {
    const { door, directory, kubeletSocket, watch, pollEvery } = this.#habits;
    if (this.#wakeUp.isOver) return;
    this.#watch = new RegistryWatch(
      { kubeletSocket, ownDirectory: directory, isOwnLost: () => this.#plugin.isLost() },
      { watch: watch.filter((style) => door === 'register' || style === 'own-socket' || style === 'poll'), pollEvery },
      (event) => this.#wakeUp.ring(event),
    );
  }

  /** Serves no more, does nothing more, and stays. */
  async #hang(): Promise<void> {
    this.#tell.hanging();
    await this.#plugin.stop();
    while (!this.#wakeUp.isOver) await this.#wakeUp.wait();
  }
}
