// Plugins that are refused again and again: each refusal is an event of its own, and a status that counts states would
// say that all is well, because who never came in has no state.
import type { Clock } from '../kernel/clock.js';
import type { EventDraft, EventSink } from '../model/event.js';
import { isOfTime } from '../model/reasons.js';
import { timeText, type RefusedView } from '../model/views.js';

/** Refusals in a row from which on it is again and again. */
const MANY = 3;
/** Whose last refusal is older than this has given up. */
const OVER_AFTER_MS = 10 * 60_000;
/** Plugins and sockets that are counted; of more, those that were silent longest are forgotten. */
const MOST_COUNTED = 1024;
/** Shown at most, the newest: one plugin that invents names must not fill the screen. */
const MOST_SHOWN = 100;
/** What plugins have chosen is cut to these lengths, as in events. */
const MAX_TEXT = 256;
const MAX_MESSAGE = 1024;

interface Row {
  refusals: number;
  sinceMs: number;
  lastMs: number;
  draft: EventDraft;
}

/** An event sink that passes events on and counts refusals in a row, by plugin, or by socket where no plugin is known. */
export class RefusedAgain implements EventSink {
  readonly #sink: EventSink;
  readonly #clock: Clock;
  readonly #rows = new Map<string, Row>();

  constructor(sink: EventSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  record(event: EventDraft): void {
    this.#sink.record(event);
    const { plugin = '', socket = '' } = event;
    const key = plugin === '' ? socket : plugin;
    // It came in, whoever was refused before.
    if (event.type === 'registered' || event.reason === 'confirmed') this.#rows.delete(key);
    if (event.type !== 'refused') return;
    const now = this.#clock.wall();
    const row = this.#rows.get(key) ?? { refusals: 0, sinceMs: now, lastMs: now, draft: event };
    if (now - row.lastMs > OVER_AFTER_MS) Object.assign(row, { refusals: 0, sinceMs: now, draft: event });
    // Who knocks again and again is soon told to wait; what is wrong is what was said before.
    const isNews = !isOfTime(event.reason ?? '') || isOfTime(row.draft.reason ?? '');
    Object.assign(row, { refusals: row.refusals + 1, lastMs: now, draft: isNews ? event : row.draft });
    // Re-entered, so that the first is the one that was silent longest.
    this.#rows.delete(key);
    this.#rows.set(key, row);
    if (this.#rows.size <= MOST_COUNTED) return;
    const [silent] = this.#rows.keys();
    if (silent !== undefined) this.#rows.delete(silent);
  }

  /** Who is refused again and again now, the newest refusal first. */
  views(): readonly RefusedView[] {
    const now = this.#clock.wall();
    return [...this.#rows.values()]
      .filter(({ refusals, lastMs }) => refusals >= MANY && now - lastMs <= OVER_AFTER_MS)
      .reverse()
      .slice(0, MOST_SHOWN)
      .map(({ refusals, sinceMs, lastMs, draft }) => ({
        plugin: (draft.plugin ?? '').slice(0, MAX_TEXT),
        socket: (draft.socket ?? '').slice(0, MAX_TEXT),
        reason: draft.reason ?? '',
        message: draft.message.slice(0, MAX_MESSAGE),
        refusals,
        since: timeText(sinceMs),
        last: timeText(lastMs),
      }));
  }
}
