// Plugins that are refused again and again: each refusal is an event of its own, and a status that counts states would say that
// all is well, because a plugin that never came in has no state.
import type { Clock } from '../kernel/clock.js';
import { enterLast } from '../kernel/enter-last.js';
import type { EventDraft, EventSink } from '../model/event.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import { isOfTime } from '../model/reasons.js';
import { timeText, type RefusedView } from '../model/views.js';
import { cutDraft } from './cut-draft.js';

/** Refusals in a row from which a plugin is shown as refused again and again. */
const MANY = 3;
/** A plugin whose last refusal is older than this has given up. */
const OVER_AFTER_MS = 10 * 60_000;
/** Plugins and sockets that are counted; of more, those that were silent longest are forgotten. */
const MOST_COUNTED = 1024;
/** Shown at most, the newest: one plugin that invents names must not fill the screen. */
const MOST_SHOWN = 100;
/** One ordinary user has a quarter of the counted and of the shown rows, because it may invent names. */
const SHARES = 4;

interface Row {
  refusals: number;
  /** Both on the monotonic scale: the wall clock may be set back. */
  sinceMs: number;
  lastMs: number;
  draft: EventDraft;
  /** The ordinary user who was refused first, unless root or the broker's user was: others may call in anybody's name. */
  stranger: number | undefined;
}

/** An event sink that passes events on and counts refusals in a row, by plugin, or by socket where no plugin is known. */
export class RefusedAgain implements EventSink {
  readonly #sink: EventSink;
  readonly #clock: Clock;
  readonly #facts: UserFacts;
  /** The one that was silent longest is first. */
  readonly #rows = new Map<string, Row>();

  /** @param facts tell the users apart whose rows have a share */
  constructor(sink: EventSink, clock: Clock, facts: UserFacts) {
    this.#sink = sink;
    this.#clock = clock;
    this.#facts = facts;
  }

  record(draft: EventDraft): void {
    this.#sink.record(draft);
    const event = cutDraft(draft);
    const { plugin = '', socket = '' } = event;
    const key = plugin === '' ? socket : plugin;
    // It came in, whichever callers were refused before.
    if (event.type === 'registered' || event.reason === 'confirmed') this.#rows.delete(key);
    if (event.type !== 'refused') return;
    const now = this.#clock.mono();
    const stranger = event.uid === undefined ? undefined : strangerUser(event.uid, this.#facts);
    const row = this.#rows.get(key) ?? { refusals: 0, sinceMs: now, lastMs: now, draft: event, stranger };
    if (now - row.lastMs > OVER_AFTER_MS) Object.assign(row, { refusals: 0, sinceMs: now, draft: event });
    // Repeated callers are soon refused for calling too often; the reason before that names the mistake.
    const isNews = !isOfTime(event.reason ?? '') || isOfTime(row.draft.reason ?? '');
    if (stranger === undefined) row.stranger = undefined;
    Object.assign(row, { refusals: row.refusals + 1, lastMs: now, draft: isNews ? event : row.draft });
    if (stranger !== undefined && !this.#rows.has(key)) this.#makeRoomFor(stranger);
    enterLast(this.#rows, key, row, MOST_COUNTED);
  }

  /** Forgets the row of a user that was silent longest, where its share is full. */
  #makeRoomFor(stranger: number): void {
    const own = [...this.#rows].filter(([, row]) => row.stranger === stranger);
    const [silent] = own;
    if (own.length >= MOST_COUNTED / SHARES && silent !== undefined) this.#rows.delete(silent[0]);
  }

  /** The plugins and sockets that are refused again and again now, the newest refusal first. */
  views(): readonly RefusedView[] {
    const now = this.#clock.mono();
    const wall = this.#clock.wall();
    const textOf = (monoMs: number): string => timeText(wall - (now - monoMs));
    const shown = new Map<number, number>();
    return [...this.#rows.values()]
      .filter(({ refusals, lastMs }) => refusals >= MANY && now - lastMs <= OVER_AFTER_MS)
      .reverse()
      .filter(({ stranger }) => {
        if (stranger === undefined) return true;
        const before = shown.get(stranger) ?? 0;
        shown.set(stranger, before + 1);
        return before < MOST_SHOWN / SHARES;
      })
      .slice(0, MOST_SHOWN)
      .map(({ refusals, sinceMs, lastMs, draft }) => ({
        plugin: draft.plugin ?? '',
        socket: draft.socket ?? '',
        reason: draft.reason ?? '',
        message: draft.message,
        refusals,
        since: textOf(sinceMs),
        last: textOf(lastMs),
      }));
  }
}
