// Those who follow the broker on open streams: one picture for all of them, sent as it changes and at most twice a second.
// Without them nothing is computed and nothing is kept.
import { asError, type Alarm, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { BrokerEvent } from '../model/event.js';
import { overHttp } from './over-http.js';
import { Picture } from './picture.js';
import type { PageSource } from './ports.js';

/** Streams at a time: a page has one. */
const MOST_STREAMS = 8;
/** Changes are gathered this long, milliseconds. */
const GATHER_MS = 500;
/** A stream that has nothing to tell says so, before anybody between the two thinks it dead. */
const HEARTBEAT_MS = 5000;
/** Events in one message round, and of the past for one who comes back. */
const MOST_EVENTS = 500;
/** Bytes that a reader may leave unread beside its first picture. */
const MOST_UNREAD = 1024 * 1024;
/** How soon a reader that was cut off should come back. */
const RETRY = 'retry: 2000\n\n';
const BYE = 'event: bye\ndata: {}\n\n';

/** One open stream. */
export interface Stream {
  write(text: string): void;
  /** Bytes that were written and did not leave. */
  readonly unread: number;
  /** Ends it after what was written. */
  end(): void;
  /** Ends it at once. */
  destroy(): void;
}

/** What it needs. */
export interface AudiencePorts {
  readonly source: PageSource;
  readonly clock: Clock;
  readonly log: Log;
  readonly nextTurn: () => Promise<void>;
}

interface Member {
  readonly stream: Stream;
  readonly allowed: number;
}

/** Everybody who follows. */
export class Audience {
  readonly #ports: AudiencePorts;
  readonly #members = new Set<Member>();
  /** Streams that wait for their first picture count, too. */
  #joining = 0;
  #picture: Picture | undefined;
  #following: AbortController | undefined;
  #events: BrokerEvent[] = [];
  #alarm: Alarm | undefined;
  #lastTick = -Infinity;
  #isTicking = false;
  #isOver = false;

  constructor(ports: AudiencePorts) {
    this.#ports = ports;
  }

  /** Why nobody can join now, and after how many seconds it is worth trying again; undefined: somebody can. */
  get refusal(): { readonly message: string; readonly retryAfterS: number } | undefined {
    if (this.#isOver) return { message: 'the broker is stopping', retryAfterS: 2 };
    if (this.#members.size + this.#joining < MOST_STREAMS) return undefined;
    const message = `${String(MOST_STREAMS)} pages follow already; ask api/v1/status each 5 s instead`;
    return { message, retryAfterS: 5 };
  }

  /** Open streams. */
  get size(): number {
    return this.#members.size;
  }

  /**
   * Sends the picture and then what changes, until the returned function is called. Never rejects.
   *
   * @param since events with a higher number are told again; undefined: none of the past
   */
  join(stream: Stream, since: number | undefined): () => void {
    let member: Member | undefined;
    let isGone = false;
    this.#joining += 1;
    stream.write(RETRY);
    this.#follow();
    const begin = async (): Promise<void> => {
      const picture = (this.#picture ??= new Picture({ ...this.#ports, now: () => this.#ports.clock.wall() }));
      const history = await picture.history();
      const change = await picture.refresh();
      this.#lastTick = this.#ports.clock.mono();
      const past = since === undefined ? [] : await this.#past(since);
      if (isGone || this.#isOver) return;
      // The others have the picture of before: what this look found is news to them.
      this.#tell([], change);
      const text = framed('snapshot', picture.text(history));
      member = { stream, allowed: MOST_UNREAD + text.length };
      this.#members.add(member);
      stream.write(text + past.map(eventMessage).join(''));
    };
    void begin()
      .catch((failure: unknown) => {
        this.#ports.log.error('http.stream-failed', `a stream could not begin: ${asError(failure).message}`);
        stream.destroy();
      })
      .finally(() => {
        this.#joining -= 1;
        if (this.#isOver) stream.end();
        else this.#schedule();
        this.#restIfAlone();
      });
    return () => {
      isGone = true;
      if (member !== undefined) this.#members.delete(member);
      this.#restIfAlone();
    };
  }

  /** Says goodbye to everybody. */
  close(): void {
    this.#isOver = true;
    for (const { stream } of this.#members) {
      stream.write(BYE);
      stream.end();
    }
    this.#members.clear();
    this.#restIfAlone();
  }

  /** Nobody listens any more: nothing is kept. */
  #restIfAlone(): void {
    if (this.#members.size > 0 || this.#joining > 0) return;
    this.#following?.abort(new Error('nobody listens'));
    this.#following = undefined;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#picture = undefined;
    this.#events = [];
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
      if (!signal.aborted) await this.#tick().finally(() => this.close());
    };
    read().catch((failure: unknown) => {
      if (signal.aborted) return;
      log.warn('http.stream-behind', `streams left events out: ${asError(failure).message}`);
      this.#following = undefined;
      if (this.#members.size > 0) this.#follow();
    });
  }

  #schedule(): void {
    const { clock } = this.#ports;
    const isNews = this.#events.length > 0;
    const inMs = Math.max(0, this.#lastTick + (isNews ? GATHER_MS : HEARTBEAT_MS) - clock.mono());
    this.#alarm?.cancel();
    this.#alarm = clock.alarm(inMs, () => void this.#tick());
  }

  /** Looks again and tells. Never rejects. */
  async #tick(): Promise<void> {
    if (this.#isTicking || this.#picture === undefined) return;
    this.#isTicking = true;
    this.#lastTick = this.#ports.clock.mono();
    try {
      const change = await this.#picture.refresh();
      this.#tell(this.#events.splice(0), change);
      if (this.#ports.source.head().broker.phase === 'stopping') this.close();
    } catch (failure) {
      this.#ports.log.error('http.stream-failed', `streams miss a change: ${asError(failure).message}`);
    } finally {
      this.#isTicking = false;
      if (this.#members.size > 0) this.#schedule();
    }
  }

  #tell(events: readonly BrokerEvent[], change: string | undefined): void {
    const news = (change === undefined ? '' : framed('change', change)) + events.map(eventMessage).join('');
    for (const member of [...this.#members]) {
      const { stream, allowed } = member;
      if (stream.unread > allowed) {
        this.#members.delete(member);
        this.#ports.log.info('http.stream-slow', 'a reader of the status page was too slow and is cut off');
        stream.destroy();
      } else stream.write(news === '' ? ':\n\n' : news);
    }
  }

  async #past(since: number): Promise<readonly BrokerEvent[]> {
    const past: BrokerEvent[] = [];
    const { signal } = new AbortController();
    for await (const event of this.#ports.source.events({ since: since + 1, plugin: '', follow: false }, signal)) {
      past.push(event);
    }
    return past.slice(-MOST_EVENTS);
  }
}

function framed(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

function eventMessage(event: BrokerEvent): string {
  return `id: ${String(event.seq)}\nevent: event\ndata: ${JSON.stringify(overHttp(event))}\n\n`;
}
