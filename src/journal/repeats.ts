// A plugin that fails a thousand times a second must not fill memory and disk with it: of equal events the first few
// are told, the rest are counted and told once.
import type { Alarm, Clock } from '../kernel/clock.js';
import type { EventDraft } from '../model/event.js';

/** Equal events within this are told together. */
const WINDOW_MS = 10_000;
/** So many of them one by one. */
const TOLD = 3;
/** So many changes of the state of one plugin. */
const TOLD_CHANGES = 12;
/** Kinds of events watched at one time; beyond it the oldest window ends early. */
const MAX_WINDOWS = 1024;

interface Window {
  readonly startedAt: number;
  told: number;
  untold: number;
  last: EventDraft;
  /** Epoch milliseconds of the last. */
  lastAt: number;
  alarm: Alarm | undefined;
}

/**
 * Lets drafts through, or counts them. Equal means: same plugin (or socket, where no plugin is known), type and reason.
 * Changes of the state of one plugin are one kind for any reason, so that the last reported event of a plugin is the last that
 * happened to it.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #tell: (draft: EventDraft) => void;
  readonly #windows = new Map<string, Window>();

  /** @param tell takes the events that are to be recorded */
  constructor(clock: Clock, tell: (draft: EventDraft) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Tells the draft, or counts it among those of its kind. */
  offer(draft: EventDraft): void {
    const key = kindOf(draft);
    const now = this.#clock.mono();
    const window = this.#windows.get(key);
    if (window === undefined || now - window.startedAt >= WINDOW_MS) {
      if (window !== undefined) this.#end(key, window);
      this.#windows.set(key, { startedAt: now, told: 1, untold: 0, last: draft, lastAt: 0, alarm: undefined });
      this.#makeRoom();
      this.#tell(draft);
    } else if (window.told < (isChange(draft) ? TOLD_CHANGES : TOLD)) {
      window.told += 1;
      this.#tell(draft);
    } else {
      window.untold += 1;
      window.last = draft;
      window.lastAt = this.#clock.wall();
      window.alarm ??= this.#clock.alarm(window.startedAt + WINDOW_MS - now, () => this.#end(key, window));
    }
  }

  /** Ends all windows, reporting the repeats counted so far. */
  flush(): void {
    for (const [key, window] of [...this.#windows]) this.#end(key, window);
  }

  #end(key: string, window: Window): void {
    window.alarm?.cancel();
    if (this.#windows.get(key) === window) this.#windows.delete(key);
    if (window.untold === 0) return;
    const seconds = Math.max(1, Math.round((this.#clock.mono() - window.startedAt) / 1000));
    // It is told after things that happened later, so it says when it was.
    const lastAt = `${new Date(window.lastAt).toISOString().slice(11, 19)}Z`;
    const what = isChange(window.last) ? 'more changes' : 'more';
    const message = `${window.last.message} (${window.untold} ${what} in ${seconds} s, the last at ${lastAt})`;
    this.#tell({ ...window.last, message });
  }

  #makeRoom(): void {
    if (this.#windows.size <= MAX_WINDOWS) return;
    const [oldest] = this.#windows;
    if (oldest !== undefined) this.#end(...oldest);
  }
}

/** Where an event says neither plugin nor reason, its words are all that tells it from others. */
function kindOf({ type, reason = '', plugin = '', socket = '', message, facts }: EventDraft): string {
  if (plugin !== '' && isChange({ type })) return JSON.stringify(['state', plugin]);
  // Others who are refused in a plugin's name hide none of its own refusals.
  if (plugin !== '') return JSON.stringify([type, reason, plugin, facts?.['by']]);
  return JSON.stringify(reason === '' ? [type, message] : [type, reason, '', socket]);
}

/** Whether it says in which state a plugin is from now on. */
function isChange({ type }: Pick<EventDraft, 'type'>): boolean {
  return type === 'state' || type === 'registered';
}
