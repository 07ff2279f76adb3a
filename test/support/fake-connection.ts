import type { ListStream, PluginConnection, PluginDialler } from '../../src/session/ports.js';
import type { DeviceCalls, DeviceOptions } from '../../src/model/device-use.js';
import type { TransportFault } from '../../src/model/failed-call.js';
import type { PinnedSocket } from '../../src/model/plugin.js';
import type { StreamEnd } from '../../src/model/failed-call.js';
import type { ListPacer } from '../../src/model/flood.js';

/** A list stream that a test feeds. Counts its reads: an unread list stays with the plugin. */
export class FakeStream implements ListStream {
  readonly #messages: Buffer[];
  #waiting: ((message: Buffer | undefined) => void) | undefined;
  reads = 0;
  end: StreamEnd | undefined;
  isCancelled = false;
  #ending: StreamEnd | undefined;

  /** @param end the stream ends after these messages */
  constructor(messages: readonly Buffer[] = [], end?: StreamEnd) {
    this.#messages = [...messages];
    this.#ending = end;
  }

  read(): Promise<Buffer | undefined> {
    if (this.#waiting !== undefined) throw new Error('two reads at one time');
    this.reads += 1;
    const message = this.#messages.shift();
    if (message !== undefined) return Promise.resolve(message);
    if (this.#ending !== undefined) {
      this.end = this.#ending;
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  /** How many messages were said to be done with. */
  dones = 0;

  done(messages: number): void {
    this.dones += messages;
  }

  /** The plugin sends a message. */
  push(message: Buffer): void {
    if (this.#waiting === undefined) this.#messages.push(message);
    else this.#answer(message);
  }

  /** The plugin, or the transport, ends the stream. */
  finish(end: StreamEnd): void {
    this.#ending ??= end;
    if (this.#waiting === undefined) return;
    this.end = this.#ending;
    this.#answer(undefined);
  }

  cancel(): void {
    this.isCancelled = true;
    this.finish({ status: 1, details: 'closed by the broker' });
  }

  #answer(message: Buffer | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(message);
  }
}

/** A pacer with as many permits as a test gives. */
export class PacedBy implements ListPacer {
  permits: number;
  readonly onExceed: 'coalesce' | 'disconnect';
  /** Lets the turn come that is waited for. */
  come: () => void = () => undefined;
  isClosed = false;

  constructor({
    permits = Infinity,
    onExceed = 'coalesce',
  }: { permits?: number; onExceed?: 'coalesce' | 'disconnect' } = {}) {
    this.permits = permits;
    this.onExceed = onExceed;
  }

  tryTake(): boolean {
    if (this.permits < 1) return false;
    this.permits -= 1;
    return true;
  }

  nextTurn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.come = () => resolve(true);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  /** Bytes that were spent, and for which there was room. */
  readonly costs: number[] = [];

  room(bytes: number): Promise<void> {
    this.costs.push(bytes);
    return Promise.resolve();
  }

  spend(bytes: number): void {
    this.costs.push(bytes);
  }

  close(): void {
    this.isClosed = true;
  }
}

/** A connection to a plugin whose answers a test decides. */
export class FakeConnection implements PluginConnection {
  readonly streams: FakeStream[] = [];
  asked = 0;
  isClosed = false;
  lost: (() => void) | undefined;
  /** Answers GetDevicePluginOptions. */
  answer: (limitMs: number, signal: AbortSignal) => Promise<DeviceOptions> = () =>
    Promise.resolve({ preStartRequired: false, preferredAllocationAvailable: false });

  /** Calls about using devices: none is answered. */
  readonly calls: DeviceCalls = {
    call: () => Promise.reject(new Error('not served')),
    allocate: () => Promise.reject(new Error('not served')),
    preferred: () => Promise.reject(new Error('not served')),
    preStart: () => Promise.reject(new Error('not served')),
  };

  options(limitMs: number, signal: AbortSignal): Promise<DeviceOptions> {
    this.asked += 1;
    return this.answer(limitMs, signal);
  }

  listAndWatch(): FakeStream {
    const stream = new FakeStream();
    this.streams.push(stream);
    return stream;
  }

  onLost(lost: () => void): void {
    this.lost = lost;
  }

  close(): void {
    this.isClosed = true;
  }
}

/** Hands out connections and keeps them. */
export class FakeDialler implements PluginDialler {
  readonly dialled: FakeConnection[] = [];
  /** Adapts a connection before it is used. */
  prepare: (connection: FakeConnection) => void = () => undefined;

  dial(_endpoint: PinnedSocket): FakeConnection {
    const connection = new FakeConnection();
    this.prepare(connection);
    this.dialled.push(connection);
    return connection;
  }

  /** The connection that was opened last. */
  get last(): FakeConnection {
    const last = this.dialled.at(-1);
    if (last === undefined) throw new Error('nobody was dialled');
    return last;
  }
}

/** A failed call, as sessions see it. */
export class FakeFailure extends Error {
  readonly status: number;
  readonly fault: TransportFault | undefined;
  constructor(status: number, details: string, fault?: TransportFault) {
    super(details);
    this.status = status;
    this.fault = fault;
  }
}
