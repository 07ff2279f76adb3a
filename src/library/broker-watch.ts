// The news of a living broker: its plugins at each change and its events, for listeners and waiters.
import type { LifeEnd } from '../platform/process/broker-child.js';
import type { BrokerNews, PluginPicture } from '../model/fault-port.js';
import type { PluginState } from '../model/plugin.js';
import type { BrokerEvents, Recording } from './broker-api.js';

/** Values of one recording that are kept; the lowest is known all the same. */
const MOST_SAMPLES = 100_000;

type Listener = (event: never) => void;
type StreamsBroken = Extract<BrokerNews, { kind: 'streams-broken' }>;

/** Hears everything and tells it on. */
export class BrokerWatch {
  readonly #listeners = new Map<keyof BrokerEvents, Set<Listener>>();
  readonly #lookers = new Set<() => void>();
  readonly #recordings = new Set<OpenRecording>();
  readonly #broken = new Set<(news: StreamsBroken) => void>();
  #plugins: readonly PluginPicture[] = [];
  #isOpen = false;
  #phase = '';
  /** Lists streams that are open, by the path of their socket. */
  readonly streams = new Set<string>();

  /** The open list streams of a plugin; an empty type means any. */
  streamsOf({ name, type }: { readonly name: string; readonly type: string }): readonly string[] {
    const fits = this.#plugins.filter((one) => one.name === name && (type === '' || type === one.type));
    return fits.map(({ socket }) => socket).filter((socket) => this.streams.has(socket));
  }

  /** Takes news of the present life. */
  take(news: BrokerNews): void {
    if (news.kind === 'picture') this.#plugins = news.plugins;
    if (news.kind === 'stream') this.streams[news.is === 'up' ? 'add' : 'delete'](news.socket);
    if (news.kind === 'streams-broken') for (const hear of this.#broken) hear(news);
    if (news.kind === 'phase') this.#phaseIs(news.phase);
    // Changes before it serves are told to nobody.
    if (this.#isOpen) for (const recording of this.#recordings) recording.take(news.at, this.#plugins);
    this.#happened();
  }

  /** A life ended. */
  ended(end: LifeEnd): void {
    this.#isOpen = false;
    this.#phase = '';
    this.#plugins = [];
    this.streams.clear();
    this.tell('exit', end);
    this.#happened();
  }

  /** Calls the listeners. */
  tell<K extends keyof BrokerEvents>(name: K, event: BrokerEvents[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(event as never);
      } catch {
        // An exception of a listener is its author's.
      }
    }
  }

  /** Listens until it is disposed of. */
  on<K extends keyof BrokerEvents>(name: K, listener: (event: BrokerEvents[K]) => void): Disposable {
    const all = this.#listeners.get(name) ?? new Set<Listener>();
    // The same function twice is two listeners.
    const own: Listener = (event) => listener(event);
    this.#listeners.set(name, all.add(own));
    return { [Symbol.dispose]: () => void all.delete(own) };
  }

  /** Looks at each change until it is called off. */
  onChange(look: () => void): () => void {
    this.#lookers.add(look);
    return () => this.#lookers.delete(look);
  }

  /** Hears when the breaking of a stream is over. */
  onBroken(hear: (news: StreamsBroken) => void): () => void {
    this.#broken.add(hear);
    return () => this.#broken.delete(hear);
  }

  /** Records a resource from a moment on, in epoch milliseconds. */
  record(resource: string, began = Date.now()): Recording {
    const recording = new OpenRecording(resource, began, () => this.#recordings.delete(recording));
    this.#recordings.add(recording);
    if (this.#isOpen) recording.take(began, this.#plugins);
    return recording;
  }

  #phaseIs(phase: BrokerEvents['phase']): void {
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#isOpen = phase !== 'stopping';
    this.tell('phase', phase);
  }

  #happened(): void {
    for (const look of [...this.#lookers]) look();
  }
}

class OpenRecording implements Recording {
  readonly samples: { at: number; capacity: number; allocatable: number; state: PluginState }[] = [];
  lowest = Infinity;
  readonly #resource: string;
  readonly #began: number;
  readonly #close: () => void;

  constructor(resource: string, began: number, close: () => void) {
    this.#resource = resource;
    this.#began = began;
    this.#close = close;
  }

  take(at: number, plugins: readonly PluginPicture[]): void {
    const { capacity, allocatable, state } =
      plugins.find(({ name }) => name === this.#resource) ?? ({ capacity: 0, allocatable: 0, state: 'gone' } as const);
    // News of before it began may come later than the answer that made the program begin: the last of them is the start.
    if (at <= this.#began) {
      this.samples.length = 0;
      this.lowest = Infinity;
    }
    this.lowest = Math.min(this.lowest, allocatable);
    const last = this.samples.at(-1);
    if (last?.capacity === capacity && last.allocatable === allocatable && last.state === state) return;
    if (this.samples.length < MOST_SAMPLES) this.samples.push({ at, capacity, allocatable, state });
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}
