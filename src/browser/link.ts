// The line to the broker: one stream while somebody looks, a question each five seconds where there is none to have, and
// nothing while the page is hidden or paused.
import type { BrokerEvent } from '../model/event.js';
import type { PageChange, PageSnapshot } from '../model/page-views.js';
import type { Store } from './store.js';

const ASK_MS = 5000;
/** Pages of this browser with a stream: it opens six connections to one server, and needs some to ask. */
const MOST_STREAMS = 4;
const ANSWERS_MS = 80;
const CHANNEL = 'plugin-broker pages';

/** How the page hears of news: by a stream, by asking, not at all since a moment, or not because somebody said so. */
export type Mode = 'live' | 'asking' | 'lost' | 'paused';

/** Follows the broker. */
export class Link {
  mode: Mode = 'lost';
  /** When it was lost, epoch milliseconds of this machine. */
  lostAt = Date.now();
  /** The broker said goodbye: nothing was lost by accident. */
  hasLeft = false;
  readonly #store: Store;
  readonly #changed: () => void;
  readonly #pages = new BroadcastChannel(CHANNEL);
  #stream: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPaused = false;
  /** It follows without having waited for answers: nothing is shown yet. */
  #isFirst = false;
  #others = 0;

  /** @param changed there is something new to show */
  constructor(store: Store, changed: () => void) {
    this.#store = store;
    this.#changed = changed;
    this.#pages.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data === 'who?' && this.#stream !== undefined) this.#pages.postMessage('me');
      if (data !== 'me') return;
      this.#others += 1;
      if (this.#isFirst && this.#others === MOST_STREAMS) void this.#ask();
    };
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#rest() : this.open()));
    addEventListener('pagehide', () => this.#rest());
  }

  /** Stops, or goes on. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#rest();
    if (isPaused) this.#is('paused');
    else this.open();
  }

  /** Begins, where nothing speaks against it. */
  open(): void {
    this.#rest();
    if (this.#isPaused || document.hidden) return;
    this.#others = 0;
    this.#pages.postMessage('who?');
    if (this.#store.seq === 0) {
      this.#isFirst = true;
      this.#follow();
      this.#timer = setTimeout(() => (this.#isFirst = false), ANSWERS_MS);
    } else
      this.#timer = setTimeout(() => (this.#others < MOST_STREAMS ? this.#follow() : void this.#ask()), ANSWERS_MS);
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#isFirst = false;
    this.#stream?.close();
    this.#stream = undefined;
  }

  #follow(): void {
    const { seq } = this.#store;
    const stream = new EventSource(`api/v1/stream${seq === 0 ? '' : `?since=${String(seq)}`}`);
    this.#stream = stream;
    const on = (name: string, take: (data: never) => void): void =>
      stream.addEventListener(name, ({ data }: MessageEvent<string>) => {
        take(JSON.parse(data) as never);
        this.hasLeft = false;
        this.#is('live');
      });
    on('snapshot', (data: PageSnapshot) => {
      this.#store.snapshot(data);
      if (seq === 0) void this.#past();
    });
    on('change', (data: PageChange) => this.#store.change(data));
    on('event', (event: BrokerEvent) => this.#store.tell([event]));
    stream.addEventListener('bye', () => {
      this.hasLeft = true;
      this.#lost();
    });
    stream.onerror = () => {
      // Too many streams, or nobody there: the browser tries again by itself only in the second case.
      if (stream.readyState === EventSource.CLOSED) void this.#ask();
      else this.#lost();
    };
  }

  /** Asks once, and again after a while. */
  async #ask(): Promise<void> {
    this.#rest();
    this.#timer = setTimeout(() => this.open(), ASK_MS);
    try {
      const answer = await fetch('api/v1/status');
      if (!answer.ok) throw new Error(answer.statusText);
      this.#store.snapshot((await answer.json()) as PageSnapshot);
      await this.#past();
      this.#is('asking');
    } catch {
      this.#lost();
    }
  }

  async #past(): Promise<void> {
    const answer = await fetch('api/v1/events?limit=500');
    if (answer.ok) this.#store.tell(((await answer.json()) as { events: BrokerEvent[] }).events);
    this.#changed();
  }

  #lost(): void {
    if (this.mode !== 'lost') this.lostAt = Date.now();
    this.#is('lost');
  }

  #is(mode: Mode): void {
    this.mode = mode;
    this.#changed();
  }
}
