// A plugin that fails a thousand times a second must not fill memory and disk with it: of equal events the first few
// are told, the rest are counted and told once. So are those of an ordinary user beyond its share, equal or not: it chooses names.
import type { Alarm, Clock } from '../kernel/clock.js';
import { Paces } from '../kernel/paces.js';
import { LEASE_EVENTS, type EventDraft } from '../model/event.js';
import { strangerUser, type UserFacts } from '../model/ids.js';

/** Equal events within this are told together. */
const WINDOW_MS = 10_000;
/** So many of them one by one. */
const TOLD = 3;
/** So many changes of the state of one plugin. */
const TOLD_CHANGES = 12;
/** Kinds of events watched at one time; beyond it the oldest window ends early. */
const MAX_WINDOWS = 1024;
/**
 * Events of one ordinary user that are told one by one, changes of states apart: so many at once, and one more each interval. The
 * newest thousand of all are kept, and what is written to the file takes the time of everybody.
 */
const SHARE = { burst: 256, intervalMs: 500 } as const;

interface Window {
  readonly startedAt: number;
  /** Says of what there were more. */
  readonly what: string;
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
  readonly #users: UserFacts;
  readonly #tell: (draft: EventDraft) => void;
  readonly #windows = new Map<string, Window>();
  readonly #shares = new Paces<number>(SHARE);

  /**
   * @param users tell the users apart that have a share
   * @param tell takes the events that are to be recorded
   */
  constructor(clock: Clock, users: UserFacts, tell: (draft: EventDraft) => void) {
    this.#clock = clock;
    this.#users = users;
    this.#tell = tell;
  }

  /** Tells the draft, or counts it among those of its kind, or of its user. */
  offer(draft: EventDraft): void {
    const kind = kindOf(draft);
    const now = this.#clock.mono();
    const window = this.#windowOf(kind, now);
    if (window !== undefined && window.told >= (isChange(draft) ? TOLD_CHANGES : TOLD)) {
      this.#count(kind, window, draft, now);
      return;
    }
    const user = this.#payerOf(draft);
    if (user !== undefined && !this.#shares.take(user, now)) {
      const all = JSON.stringify(['user', draft.type, user]);
      const what = `more about uid ${String(user)}`;
      this.#count(all, this.#windowOf(all, now) ?? this.#open(all, what, draft, now), draft, now);
      return;
    }
    const own = window ?? this.#open(kind, isChange(draft) ? 'more changes' : 'more', draft, now);
    own.told += 1;
    this.#tell(draft);
  }

  /** Ends all windows, reporting the repeats counted so far. */
  flush(): void {
    for (const [key, window] of [...this.#windows]) this.#end(key, window);
  }

  /** The user in whose share an event is told. The last change of a plugin's state is told in any case. */
  #payerOf(draft: EventDraft): number | undefined {
    return draft.uid === undefined || isChange(draft) ? undefined : strangerUser(draft.uid, this.#users);
  }

  /** The window of a kind; one that is over ends. */
  #windowOf(key: string, now: number): Window | undefined {
    const window = this.#windows.get(key);
    if (window === undefined || now - window.startedAt < WINDOW_MS) return window;
    this.#end(key, window);
    return undefined;
  }

  #open(key: string, what: string, last: EventDraft, now: number): Window {
    const window: Window = { startedAt: now, what, told: 0, untold: 0, last, lastAt: 0, alarm: undefined };
    this.#windows.set(key, window);
    this.#makeRoom();
    return window;
  }

  #count(key: string, window: Window, draft: EventDraft, now: number): void {
    window.untold += 1;
    window.last = draft;
    window.lastAt = this.#clock.wall();
    window.alarm ??= this.#clock.alarm(window.startedAt + WINDOW_MS - now, () => this.#end(key, window));
  }

  #end(key: string, window: Window): void {
    window.alarm?.cancel();
    if (this.#windows.get(key) === window) this.#windows.delete(key);
    if (window.untold === 0) return;
    const seconds = Math.max(1, Math.round((this.#clock.mono() - window.startedAt) / 1000));
    // It is told after things that happened later, so it says when it was.
    const lastAt = `${new Date(window.lastAt).toISOString().slice(11, 19)}Z`;
    const message = `${window.last.message} (${window.untold} ${window.what} in ${seconds} s, the last at ${lastAt})`;
    this.#tell({ ...window.last, message });
  }

  #makeRoom(): void {
    if (this.#windows.size <= MAX_WINDOWS) return;
    const [oldest] = this.#windows;
    if (oldest !== undefined) this.#end(...oldest);
  }
}

/** Where an event says neither plugin nor reason, its words are all that tells it from others. */
function kindOf({ type, reason = '', plugin = '', socket = '', message, facts, uid }: EventDraft): string {
  if (plugin !== '' && isChange({ type })) return JSON.stringify(['state', plugin]);
  // Others who are refused in a plugin's name hide none of its own refusals, and leases of one user none of another's.
  const whose = facts?.['by'] ?? (LEASE_EVENTS.has(type) ? uid : undefined);
  if (plugin !== '') return JSON.stringify([type, reason, plugin, whose]);
  return JSON.stringify(reason === '' ? [type, message] : [type, reason, '', socket]);
}

/** Whether it says in which state a plugin is from now on. */
function isChange({ type }: Pick<EventDraft, 'type'>): boolean {
  return type === 'state' || type === 'registered';
}
