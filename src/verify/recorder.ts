// Writes the record of a run: the observations of each scenario, bounded, in the order in which they are made.
import type { BrokerNews, PluginPicture } from '../model/fault-port.js';
import { pluginKey } from '../model/ids.js';
import type { RecordLine, RecordOf } from './record.js';
import type { Redact } from './redact.js';
import type { ScenarioResult } from './verdict.js';

/** Bytes of logs kept of one scenario at its beginning, and as many at its end. */
const LOG_BYTES = 32 * 1024;
/** Moments (events, notes, spans, changes of devices) and calls of one scenario; later ones are counted. */
const MAX_MOMENTS = 300;
const MAX_CALLS = 2_000;

/** The facts about a scenario when it begins. */
export interface Told {
  readonly name: string;
  readonly does: string;
  readonly passesWhen: string;
}

/** Takes each line as it comes; never throws, never waits. */
export type WriteLine = (line: RecordLine) => void;

type Lane = RecordOf<'span'>['lane'];
type Source = RecordOf<'log'>['from'];
type Stream = RecordOf<'log'>['stream'];
type Pipe = `${Source} ${Stream}`;

/** Records one scenario. Its clock is the wall clock of this machine, as are the recorded times. */
export class ScenarioRecorder {
  readonly #write: WriteLine;
  readonly #name: string;
  readonly #redact: Redact;
  readonly #startedAt = Date.now();
  readonly #devices = new Map<string, string>();
  readonly #sockets = new Map<string, string>();
  readonly #streams = new Set<string>();
  /** The begun line of each process and stream, until its end comes. */
  readonly #partial = new Map<Pipe, string>();
  readonly #tail: { pipe: Pipe; t: number; chunk: Buffer }[] = [];
  /** The pipes of which something between head and tail is left out. */
  readonly #cut = new Set<Pipe>();
  #headBytes = 0;
  #tailBytes = 0;
  #leftOutBytes = 0;
  #moments = 0;
  #calls = 0;
  #leftOut = 0;
  #isOver = false;

  constructor(write: WriteLine, scenario: Told, redact: Redact, run: number) {
    this.#write = write;
    this.#name = scenario.name;
    this.#redact = redact;
    const { name: s, does, passesWhen } = scenario;
    write({ kind: 'begin', s, at: new Date(this.#startedAt).toISOString(), does, passesWhen, run });
  }

  /** News of the broker, except those of our own plugin. */
  take(news: BrokerNews): void {
    const s = this.#name;
    const t = this.#t(news.at);
    if (news.kind === 'call') {
      this.#calls += 1;
      if (this.#calls > MAX_CALLS) this.#leftOut += 1;
      else this.#write({ kind: 'call', s, t, door: news.door, resource: news.name, fate: news.fate, ms: news.heldMs });
    } else if (news.kind === 'event') {
      const [socket, message] = [this.#redact(news.event.socket), this.#redact(news.event.message)];
      this.#moment({ kind: 'event', s, t, event: { ...news.event, socket, message } });
    } else if (news.kind === 'phase') {
      this.#moment({ kind: 'note', s, t, who: 'broker', what: `is ${news.phase}` });
    } else if (news.kind === 'stream') {
      this.span('stream', this.#redact(news.socket).replace(/^.*\//, ''), news.is, '', news.at);
    } else if (news.kind === 'picture') this.#picture(news.plugins, t);
  }

  /** Something begins to be there, or ends. With a broker its streams end. */
  span(lane: Lane, id: string, is: 'up' | 'down', how = '', at = Date.now()): void {
    if (lane === 'stream' && is === 'up') this.#streams.add(id);
    if (lane === 'stream' && is === 'down') this.#streams.delete(id);
    this.#moment({ kind: 'span', s: this.#name, t: this.#t(at), lane, id, is, how: this.#redact(how) });
    if (lane === 'broker' && is === 'down')
      for (const open of [...this.#streams]) this.span('stream', open, 'down', '', at);
  }

  /** Verify, or a process of the plugin, did something. */
  note(who: 'verify' | 'plugin', what: string): void {
    this.#moment({ kind: 'note', s: this.#name, t: this.#t(Date.now()), who, what: this.#redact(what) });
  }

  /** A process wrote something. Whole lines are written, so that nothing private is cut in two and overlooked. */
  log(from: Source, stream: Stream, chunk: Buffer): void {
    if (this.#isOver) return;
    const pipe: Pipe = `${from} ${stream}`;
    const t = this.#t(Date.now());
    if (this.#tail.length === 0 && this.#headBytes + chunk.length <= LOG_BYTES) {
      this.#headBytes += chunk.length;
      const text = (this.#partial.get(pipe) ?? '') + chunk.toString('utf8');
      const end = text.lastIndexOf('\n') + 1;
      this.#partial.set(pipe, text.slice(end));
      if (end > 0) this.#logLine(pipe, t, text.slice(0, end));
      return;
    }
    this.#tail.push({ pipe, t, chunk });
    this.#tailBytes += chunk.length;
    while (this.#tailBytes > LOG_BYTES && this.#tail.length > 1) {
      const dropped = this.#tail.shift();
      if (dropped === undefined) break;
      this.#tailBytes -= dropped.chunk.length;
      this.#leftOutBytes += dropped.chunk.length;
      this.#cut.add(dropped.pipe);
    }
  }

  /** The scenario is over: nothing may be taken afterwards. */
  end(result: ScenarioResult, isWarning: boolean): void {
    const s = this.#name;
    const t = this.#t(Date.now());
    for (const [pipe, text] of this.#partial) if (text !== '') this.#logLine(pipe, t, text);
    this.#writeTail(t);
    if (this.#leftOut > 0) {
      this.#write({ kind: 'note', s, t, who: 'verify', what: `${this.#leftOut} more moments are left out` });
    }
    this.#isOver = true;
    const { verdict, code, seconds, evidence } = result;
    const at = result.at.map((moment) => this.#t(moment));
    this.#write({
      kind: 'verdict',
      s,
      t,
      verdict,
      code,
      seconds,
      evidence: this.#redact(evidence),
      at,
      warn: isWarning,
    });
  }

  #picture(plugins: readonly PluginPicture[], t: number): void {
    const s = this.#name;
    const sockets = new Map<string, string>();
    for (const plugin of plugins) {
      const { name: resource, capacity, allocatable, state, reason, incarnation, socket } = plugin;
      const text = [capacity, allocatable, state, reason].join();
      if (this.#devices.get(pluginKey(plugin)) !== text) {
        this.#devices.set(pluginKey(plugin), text);
        this.#moment({ kind: 'devices', s, t, resource, capacity, allocatable, state, reason });
      }
      const isThere = state !== 'gone' && state !== 'rejected' && reason !== 'path-missing';
      if (isThere) sockets.set(incarnation, socket.replace(/^.*\//, ''));
    }
    for (const [incarnation, name] of this.#sockets)
      if (!sockets.has(incarnation)) this.#socket(incarnation, name, 'down', t);
    for (const [incarnation, name] of sockets)
      if (!this.#sockets.has(incarnation)) this.#socket(incarnation, name, 'up', t);
  }

  #socket(incarnation: string, name: string, is: 'up' | 'down', t: number): void {
    if (is === 'up') this.#sockets.set(incarnation, name);
    else this.#sockets.delete(incarnation);
    this.#moment({ kind: 'span', s: this.#name, t, lane: 'socket', id: name, is, how: '' });
  }

  #writeTail(t: number): void {
    for (const pipe of new Set(this.#tail.map((entry) => entry.pipe))) {
      const own = this.#tail.filter((entry) => entry.pipe === pipe);
      const bytes = Buffer.concat(own.map(({ chunk }) => chunk));
      const kept = bytes.subarray(Math.max(0, bytes.length - LOG_BYTES));
      this.#leftOutBytes += bytes.length - kept.length;
      const what = `${this.#leftOutBytes} bytes of logs are left out before what follows`;
      if (this.#leftOutBytes > 0) this.#write({ kind: 'note', s: this.#name, t, who: 'verify', what });
      this.#leftOutBytes = 0;
      // The rest of a line that was cut may be a part of private data, which is not recognised.
      const isCut = kept.length < bytes.length || this.#cut.has(pipe) || (this.#partial.get(pipe) ?? '') !== '';
      const text = kept.toString('utf8');
      this.#logLine(pipe, own[0]?.t ?? t, isCut && text.includes('\n') ? text.slice(text.indexOf('\n') + 1) : text);
    }
  }

  #logLine(pipe: Pipe, t: number, text: string): void {
    const [from, stream] = pipe.split(' ') as [Source, Stream];
    if (text !== '') this.#write({ kind: 'log', s: this.#name, t, from, stream, text: this.#redact(text) });
  }

  #moment(line: RecordLine): void {
    if (this.#isOver) return;
    this.#moments += 1;
    if (this.#moments > MAX_MOMENTS) this.#leftOut += 1;
    else this.#write(line);
  }

  #t(at: number): number {
    return Math.max(0, Math.round(at - this.#startedAt));
  }
}
