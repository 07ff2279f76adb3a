// The followers of the broker on open streams: one picture for all of them, sent as it changes and at most twice a second.
// Without them nothing is computed and nothing is kept.
import { Buffer } from 'node:buffer';
import { asError, type Alarm, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import { fullShareFor, type FullShare, type Sharer } from '../kernel/user-shares.js';
import type { BrokerEvent } from '../model/event.js';
import { overHttp } from './over-http.js';
import type { Picture } from './picture.js';
import type { PageSource } from './ports.js';

/** Streams at a time: a page has one, and a browser up to four (`browser/link`), which is the quarter of a user. */
const MOST_STREAMS = 16;
/**
 * A stream is safe for this long; then the oldest of the share that is full yields to a newcomer. It is short, and as often as a page
 * asks that has no stream, so that keeping others out takes a new stream in the place of each in each such time.
 */
const STAY_MS = 5_000;
/** Whose streams keep a newcomer out, in the words of the refusal. */
const PAGES = { own: 'pages of one user', ordinary: 'pages of ordinary users', all: 'pages' } as const;
/** Changes are gathered this long, milliseconds. */
const GATHER_MS = 500;
/**
 * Everything is looked at, also that of which no event tells. A stream that has nothing to tell says so, before anybody
 * between the two thinks it dead.
 */
const HEARTBEAT_MS = 5000;
/** Events in one message round, and of the past for one that comes back. */
const MOST_EVENTS = 500;
/** Bytes that a reader may leave unread beside its first picture. */
const MOST_UNREAD = 1024 * 1024;
/** How soon a reader that was cut off should come back. */
const RETRY = Buffer.from('retry: 2000\n\n');
const BYE = Buffer.from('event: bye\ndata: {}\n\n');
const ALIVE = Buffer.from(':\n\n');

/** One open stream. */
export interface Stream {
  write(bytes: Buffer): void;
  /** Bytes that were written and did not leave. */
  readonly unread: number;
  /** Ends it after the written data. */
  end(): void;
  /** Ends it at once. */
  destroy(): void;
}

/** The ports of the audience. */
export interface AudiencePorts {
  readonly source: PageSource;
  readonly clock: Clock;
  readonly log: Log;
  /** All get the same one; the API's callers use it as well. */
  readonly picture: Picture;
}

interface Member {
  readonly stream: Stream;
  readonly sharer: Sharer;
  readonly allowed: number;
  /** When it got its first picture, monotonic milliseconds. */
  readonly atMs: number;
}

/** One that waits for its first picture. */
interface Newcomer {
  readonly stream: Stream;
  readonly sharer: Sharer;
  readonly since: number | undefined;
}

/** All followers. */
export class Audience {
  readonly #ports: AudiencePorts;
  /** The oldest member is first. */
  readonly #members = new Map<Stream, Member>();
  /** All get the same picture: one is made for as many as come until it is there. */
  readonly #newcomers = new Map<Stream, Newcomer>();
  #isWelcoming = false;
  #following: AbortController | undefined;
  #events: BrokerEvent[] = [];
  /** Changes that looks found and that were not sent yet. */
  #changes: string[] = [];
  #alarm: Alarm | undefined;
  #lastTick = -Infinity;
  #ticking: Promise<void> | undefined;
  #isOver = false;

  constructor(ports: AudiencePorts) {
    this.#ports = ports;
    ports.picture.onChange = (change) => {
      if (this.#members.size === 0) return;
      this.#changes.push(change);
      this.#schedule();
    };
  }

  /** Why a newcomer cannot join now, and after how many seconds it is worth trying again; undefined: it can. */
  refusal(newcomer: Sharer): { readonly message: string; readonly retryAfterS: number } | undefined {
    if (this.#isOver) return { message: 'the broker is stopping', retryAfterS: 2 };
    const full = this.#fullFor(newcomer);
    if (full === undefined || this.#longest(full) !== undefined) return undefined;
    const message = `${String(full.places)} ${PAGES[full.of]} follow already; ask api/v1/status each 5 s instead`;
    return { message, retryAfterS: 5 };
  }

  #fullFor(newcomer: Sharer): FullShare | undefined {
    const holders = [...this.#members.values(), ...this.#newcomers.values()].map(({ sharer }) => sharer);
    return fullShareFor(newcomer, holders, MOST_STREAMS);
  }

  /** The stream that may have to give way: streams that nobody closes would keep everybody else out for good. */
  #longest(full: FullShare): Member | undefined {
    const first = [...this.#members.values()].find(({ sharer }) => full.has(sharer));
    return first !== undefined && this.#ports.clock.mono() - first.atMs >= STAY_MS ? first : undefined;
  }

  /** Open streams. */
  get size(): number {
    return this.#members.size;
  }

  /**
   * Sends the picture and then its changes, until the returned function is called. Never rejects.
   *
   * @param since events with a higher number are sent again; undefined: none of the past
   * @param sharer in whose share of the streams it counts
   */
  join(stream: Stream, since: number | undefined, sharer: Sharer): () => void {
    const full = this.#fullFor(sharer);
    const longest = full && this.#longest(full)?.stream;
    if (longest !== undefined) this.#members.delete(longest);
    longest?.destroy();
    stream.write(RETRY);
    this.#newcomers.set(stream, { stream, sharer, since });
    this.#follow();
    if (!this.#isWelcoming) void this.#welcome();
    return () => {
      this.#newcomers.delete(stream);
      this.#members.delete(stream);
      this.#restIfAlone();
    };
  }

  /** Makes the first picture for waiting followers. Never rejects. */
  async #welcome(): Promise<void> {
    this.#isWelcoming = true;
    try {
      // As it is kept: facts that no event reports follow at the next tick, which comes soon where they are old.
      await this.#ports.picture.whole((snapshot) => {
        // The others have the picture of before: the changes of this look are news to them, and none to the newcomers.
        if (this.#changes.length > 0) this.#tell([]);
        const first = Buffer.concat([Buffer.from('event: snapshot\ndata: '), ...snapshot, Buffer.from('\n\n')]);
        for (const { stream, sharer, since } of this.#newcomers.values()) {
          const allowed = MOST_UNREAD + first.length;
          this.#members.set(stream, { stream, sharer, allowed, atMs: this.#ports.clock.mono() });
          stream.write(first);
          if (since !== undefined) stream.write(Buffer.from(this.#past(since).map(eventMessage).join('')));
        }
        this.#newcomers.clear();
        this.#lastTick = this.#ports.clock.mono();
      }, Infinity);
    } catch (failure) {
      this.#ports.log.error('http.stream-failed', `a stream could not begin: ${asError(failure).message}`);
      for (const stream of this.#newcomers.keys()) stream.destroy();
      this.#newcomers.clear();
    } finally {
      this.#isWelcoming = false;
      this.#restIfAlone();
      if (this.#members.size > 0) this.#schedule();
      // They came when others of their kind had just left.
      if (this.#newcomers.size > 0) void this.#welcome();
    }
  }

  /** Says goodbye to everybody. */
  close(): void {
    this.#isOver = true;
    for (const stream of [...this.#members.keys(), ...this.#newcomers.keys()]) {
      stream.write(BYE);
      stream.end();
    }
    this.#members.clear();
    this.#newcomers.clear();
    this.#restIfAlone();
  }

  /** Nobody listens any more: nothing is kept. */
  #restIfAlone(): void {
    if (this.#members.size > 0 || this.#newcomers.size > 0) return;
    this.#following?.abort(new Error('nobody listens'));
    this.#following = undefined;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#events = [];
    this.#changes = [];
  }

  /** Gathers events for as long as somebody listens. */
  #follow(): void {
    if (this.#following !== undefined) return;
    const { source, log } = this.#ports;
    const following = new AbortController();
    this.#following = following;
    const { signal } = following;
    const read = async (): Promise<void> => {
      for await (const event of source.events({ since: source.seq() + 1, plugin: '', follow: true }, signal)) {
        this.#events.push(event);
        if (this.#events.length > MOST_EVENTS) this.#events.shift();
        this.#schedule();
      }
      // The journal is closed: that is the end of the broker, unless nobody listens.
      if (signal.aborted) return;
      await this.#ticking; // which may have looked before the last change
      await this.#tick();
      this.close();
    };
    read().catch((failure: unknown) => {
      if (signal.aborted) return;
      log.warn('http.stream-behind', `streams left events out: ${asError(failure).message}`);
      this.#following = undefined;
      if (this.#members.size + this.#newcomers.size > 0) this.#follow();
    });
  }

  #schedule(): void {
    const { clock, picture } = this.#ports;
    const isNews = this.#events.length + this.#changes.length > 0;
    const soon = this.#lastTick + GATHER_MS;
    const at = isNews ? soon : Math.max(soon, picture.wholeAt + HEARTBEAT_MS);
    const inMs = Math.max(0, at - clock.mono());
    this.#alarm?.cancel();
    this.#alarm = clock.alarm(inMs, () => void this.#tick());
  }

  /** Looks again and tells, unless that goes on. Never rejects. */
  #tick(): Promise<void> {
    if (this.#members.size === 0) return Promise.resolve();
    this.#ticking ??= this.#look().finally(() => (this.#ticking = undefined));
    return this.#ticking;
  }

  async #look(): Promise<void> {
    this.#lastTick = this.#ports.clock.mono();
    // Events of the time of this look are for the next one.
    const events = this.#events.splice(0);
    try {
      const isLast = this.#ports.source.head().broker.phase === 'stopping'; // before the look, which thus shows it
      await this.#ports.picture.refresh(HEARTBEAT_MS);
      this.#tell(events);
      if (isLast) this.close();
    } catch (failure) {
      this.#ports.log.error('http.stream-failed', `streams miss a change: ${asError(failure).message}`);
    } finally {
      if (this.#members.size > 0) this.#schedule();
    }
  }

  #tell(events: readonly BrokerEvent[]): void {
    const changes = this.#changes.splice(0).map((change) => framed('change', change));
    const text = [...changes, ...events.map(eventMessage)].join('');
    const news = text === '' ? ALIVE : Buffer.from(text);
    for (const { stream, allowed } of [...this.#members.values()]) {
      if (stream.unread > allowed) {
        this.#members.delete(stream);
        this.#ports.log.info('http.stream-slow', 'a reader of the status page was too slow and is cut off');
        stream.destroy();
      } else stream.write(news);
    }
  }

  /** The newest events after one. */
  #past(since: number): readonly BrokerEvent[] {
    return this.#ports.source
      .recent()
      .filter(({ seq }) => seq > since)
      .slice(-MOST_EVENTS);
  }
}

function framed(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

function eventMessage(event: BrokerEvent): string {
  return `id: ${String(event.seq)}\nevent: event\ndata: ${JSON.stringify(overHttp(event))}\n\n`;
}
