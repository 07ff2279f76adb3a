// The observations of one rig, in order: the broker's news, and our own actions.
import type { BrokerNews, PluginPicture } from '../model/fault-port.js';
import { pluginKey } from '../model/ids.js';
import type { ScenarioRecorder } from './recorder.js';
import type { Moment } from './verdict.js';

type Call = Extract<BrokerNews, { kind: 'call' }>;
type Picture = Extract<BrokerNews, { kind: 'picture' }>;
type StreamsBroken = Extract<BrokerNews, { kind: 'streams-broken' }>;

/** Calls and pictures that are kept; a plugin in a hot loop makes more. */
const MAX_KEPT = 20_000;
/** Plugins in all pictures that are kept: every user that may register one adds to each picture, and changes it. */
const MAX_PICTURED = 100_000;
/** Moments kept at the beginning and at the end of a timeline. */
const FIRST_MOMENTS = 100;
const LAST_MOMENTS = 200;

/** A point among the observations: things are counted from there. */
export interface Mark {
  readonly calls: number;
  readonly pictures: number;
}

/** Remembers the observations; bounded. */
export class Witness {
  readonly #ours: string;
  readonly #ownSocket: string;
  readonly #onNote: (what: string) => void;
  readonly #recorder: ScenarioRecorder | undefined;
  readonly #calls: Call[] = [];
  readonly #pictures: Picture[] = [];
  readonly #first: Moment[] = [];
  readonly #last: Moment[] = [];
  #pictured = 0;
  #dropped = 0;
  #phase = '';
  /** The breaking of streams, one for each plugin, since they were ordered. */
  readonly broken: StreamsBroken[] = [];
  /** The last refusal that was told; empty when there was none. */
  lastRefusal = '';

  /**
   * @param ours `type/name` of the plugin that is our own and is not looked at, and the file name of its socket
   * @param onNote is told our actions, as they happen
   * @param recorder takes all observations
   */
  constructor([ours, socket]: readonly [string, string], onNote: (what: string) => void, recorder?: ScenarioRecorder) {
    this.#ours = ours;
    this.#ownSocket = socket;
    this.#onNote = onNote;
    this.#recorder = recorder;
  }

  /** Takes news of the broker. */
  take(news: BrokerNews): void {
    switch (news.kind) {
      case 'call':
        if (pluginKey(news) === this.#ours) return;
        if (this.#calls.length < MAX_KEPT) this.#calls.push(news);
        this.#recorder?.take(news);
        return;
      case 'picture':
        if (this.#pictures.length < MAX_KEPT && this.#pictured < MAX_PICTURED) {
          this.#pictures.push(news);
          this.#pictured += news.plugins.length;
        } else this.#pictures[this.#pictures.length - 1] = news;
        this.#recorder?.take({ ...news, plugins: this.plugins });
        return;
      case 'streams-broken':
        this.broken.push(news);
        return;
      case 'stream':
        if (!news.socket.endsWith(`/${this.#ownSocket}`)) this.#recorder?.take(news);
        return;
      case 'event': {
        const { type, reason, plugin, message } = news.event;
        if (plugin === this.#ours) return;
        if (type === 'refused') this.lastRefusal = message;
        this.#recorder?.take(news);
        this.#moment({ at: news.at, who: 'broker', what: reason === '' ? message : `${message} [${reason}]` });
        return;
      }
      case 'phase':
        if (news.phase === this.#phase) return;
        this.#phase = news.phase;
        this.#recorder?.take(news);
        this.#moment({ at: news.at, who: 'broker', what: `is ${news.phase}` });
        return;
      case 'http':
        return; // verify asks no page
    }
  }

  /** The plugin, or we, did something. */
  note(who: 'verify' | 'plugin', what: string): void {
    this.#moment({ at: Date.now(), who, what });
    this.#recorder?.note(who, what);
    if (who === 'verify') this.#onNote(what);
  }

  /** Something that only we know of is there, or is not any more. */
  span(lane: 'kubelet-sock', id: string, is: 'up' | 'down', how = ''): void {
    this.#recorder?.span(lane, id, is, how);
  }

  /** A broker starts: it does not know the plugins of the one before. */
  newLife(): void {
    this.#phase = '';
    this.take({ kind: 'picture', at: Date.now(), plugins: [] });
  }

  /** Here and now. */
  mark(): Mark {
    return { calls: this.#calls.length, pictures: this.#pictures.length };
  }

  /** Plugins as they are now. */
  get plugins(): readonly PluginPicture[] {
    return (this.#pictures.at(-1)?.plugins ?? []).filter((plugin) => pluginKey(plugin) !== this.#ours);
  }

  /** The plugin that is our own, as it is now. */
  get own(): PluginPicture | undefined {
    return this.#pictures.at(-1)?.plugins.find((plugin) => pluginKey(plugin) === this.#ours);
  }

  /** Calls since a mark, of one plugin or of all. */
  callsSince(mark: Mark, key?: string): readonly Call[] {
    return this.#calls.slice(mark.calls).filter((call) => key === undefined || pluginKey(call) === key);
  }

  /** Every picture since a mark, the one that was true at the mark first. */
  picturesSince(mark: Mark): readonly Picture[] {
    return this.#pictures.slice(Math.max(0, mark.pictures - 1));
  }

  /** All moments in their order, with a word about those that are left out. */
  timeline(): readonly Moment[] {
    const gap = this.#last[0];
    const between: readonly Moment[] =
      this.#dropped === 0 || gap === undefined
        ? []
        : [{ at: gap.at, who: 'verify', what: `… ${this.#dropped} moments are left out here` }];
    return [...this.#first, ...between, ...this.#last].sort((a, b) => a.at - b.at);
  }

  #moment(moment: Moment): void {
    if (this.#first.length < FIRST_MOMENTS) {
      this.#first.push(moment);
      return;
    }
    this.#last.push(moment);
    if (this.#last.length <= LAST_MOMENTS) return;
    this.#last.shift();
    this.#dropped += 1;
  }
}
