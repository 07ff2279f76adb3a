// Keeps a flood from moving to the log: the first of many like refusals is told, the rest is counted and told as one
// line, "417 more in 10 s". Events have the journal, which does the same for them. Other lines about an ordinary user have a share
// of the log: plugins decide how often their state changes.
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Log, LogFields } from '../kernel/log.js';
import { Paces } from '../kernel/paces.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import { seconds } from './sentences.js';

/** The first summary comes after this long; while repeats go on, each following one takes twice as long. */
const FIRST_WINDOW_MS = 10_000;
const LONGEST_WINDOW_MS = 300_000;
/** Subjects counted apart; further ones are counted together. */
const MAX_SUBJECTS = 512;
/** Of one ordinary user; its further subjects are counted together, so that invented names hide no refusals of others. */
const MAX_OF_USER = 128;

/** Other lines about one ordinary user, by their `uid`: so many at once, and one more each interval. */
const LINES = { burst: 512, intervalMs: 500 } as const;

/** An ordinary user; undefined: root, the broker's own user, or an unknown caller. */
type User = number | undefined;

interface Repeats {
  readonly user: User;
  count: number;
  windowMs: number;
  alarm: Alarm;
  /** Tells how many more there were, in the words of the last of them. */
  tell: (count: number, windowMs: number) => void;
}

/**
 * A log that passes lines on. Warnings with a `code` are refusals: of those with the same event name, code, plugin (or
 * socket, where no plugin is known) and uid the first is told and the following ones are summarised. Of other lines with the uid of
 * an ordinary user those beyond its share are summarised by event name. All others are rare by themselves. Bounded in subjects
 * and in timers.
 */
export class RefusalSummary implements Log {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #repeats = new Map<string, Repeats>();
  readonly #facts: UserFacts;
  /** How many subjects of each ordinary user are counted. */
  readonly #ofUser = new Map<number, number>();
  readonly #lines = new Paces<number>(LINES);

  constructor(log: Log, clock: Clock, facts: UserFacts) {
    this.#log = log;
    this.#clock = clock;
    this.#facts = facts;
  }

  /** How many subjects are being counted. */
  get size(): number {
    return this.#repeats.size;
  }

  error(event: string, message: string, fields?: LogFields): void {
    this.#log.error(event, message, fields);
  }

  warn(event: string, message: string, fields: LogFields = {}): void {
    const { code, plugin = fields['socket'], uid } = fields;
    const tell: Repeats['tell'] = (count, windowMs) => {
      const summary = `${String(count)} more in ${seconds(windowMs)}, the last: ${message}`;
      this.#log.warn(event, summary, fields);
    };
    const subject = JSON.stringify([event, code, plugin, uid]);
    const isTold =
      code === undefined ? this.#hasShare(event, uid, tell) : this.#isFirst(subject, this.#userOf(uid), tell);
    if (isTold) this.#log.warn(event, message, fields);
  }

  info(event: string, message: string, fields: LogFields = {}): void {
    const tell: Repeats['tell'] = (count, windowMs) =>
      this.#log.info(event, `${String(count)} more in ${seconds(windowMs)}, the last: ${message}`, fields);
    if (this.#hasShare(event, fields['uid'], tell)) this.#log.info(event, message, fields);
  }

  debug(event: string, message: string, fields?: LogFields): void {
    this.#log.debug(event, message, fields);
  }

  /** Reports the counted refusals and stops. */
  close(): void {
    for (const { count, windowMs, alarm, tell } of this.#repeats.values()) {
      alarm.cancel();
      if (count > 0) tell(count, windowMs);
    }
    this.#repeats.clear();
    this.#ofUser.clear();
  }

  #userOf(uid: unknown): User {
    return typeof uid === 'number' ? strangerUser(uid, this.#facts) : undefined;
  }

  /** Whether a line about this uid is to be told, because its user's share is not used up, or it is the first one beyond. */
  #hasShare(event: string, uid: unknown, tell: Repeats['tell']): boolean {
    const user = this.#userOf(uid);
    if (user === undefined) return true;
    return this.#lines.take(user, this.#clock.mono()) || this.#isFirst(JSON.stringify([event, user]), user, tell);
  }

  /**
   * Whether this one is to be told in full. Otherwise it is counted, and `tell` is called at the end of the window with
   * the number of those that were not told.
   */
  #isFirst(subject: string, user: User, tell: Repeats['tell']): boolean {
    const key = this.#keyOf(subject, user);
    const known = this.#repeats.get(key);
    if (known !== undefined) {
      known.count += 1;
      known.tell = tell;
      return false;
    }
    if (user !== undefined) this.#ofUser.set(user, (this.#ofUser.get(user) ?? 0) + 1);
    this.#repeats.set(key, {
      user,
      count: 0,
      windowMs: FIRST_WINDOW_MS,
      alarm: this.#windowEnds(key, FIRST_WINDOW_MS),
      tell,
    });
    return true;
  }

  /** The key under which a subject is counted. */
  #keyOf(subject: string, user: User): string {
    if (this.#repeats.has(subject)) return subject;
    const isFull = user !== undefined && (this.#ofUser.get(user) ?? 0) >= MAX_OF_USER;
    const own = isFull ? JSON.stringify([user]) : subject;
    return this.#repeats.size < MAX_SUBJECTS || this.#repeats.has(own) ? own : '';
  }

  #forget(key: string, { user }: Repeats): void {
    this.#repeats.delete(key);
    if (user === undefined) return;
    const left = (this.#ofUser.get(user) ?? 1) - 1;
    if (left > 0) this.#ofUser.set(user, left);
    else this.#ofUser.delete(user);
  }

  #windowEnds(key: string, windowMs: number): Alarm {
    return this.#clock.alarm(windowMs, () => {
      const repeats = this.#repeats.get(key);
      if (repeats === undefined) return;
      if (repeats.count === 0) {
        this.#forget(key, repeats);
        return;
      }
      repeats.tell(repeats.count, repeats.windowMs);
      repeats.count = 0;
      repeats.windowMs = Math.min(LONGEST_WINDOW_MS, repeats.windowMs * 2);
      repeats.alarm = this.#windowEnds(key, repeats.windowMs);
    });
  }
}
