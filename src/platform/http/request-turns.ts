// The turns of requests that are no probes: a few at once, then one each interval. Peers that wait have them one after the other,
// however many requests each of them has.
import { asError, type Alarm, type Clock } from '../../kernel/clock.js';
import { Turns } from '../../kernel/pace.js';
import { Paces } from '../../kernel/paces.js';
import { quarterOf } from '../../kernel/user-shares.js';
import type { HttpPeer } from './http-peer.js';

/** How many requests at once, and how many milliseconds until there may be one more. */
const OF_ALL = { burst: 80, intervalMs: 25 } as const;
/** Of one peer that has no share, as root: half. */
const OF_TRUSTED = { burst: OF_ALL.burst / 2, intervalMs: 2 * OF_ALL.intervalMs } as const;
/** The shares of `fullShareFor`, in turns: a quarter for each, */
const OF_ONE = { burst: quarterOf(OF_ALL.burst), intervalMs: 4 * OF_ALL.intervalMs } as const;
/** and three quarters for all of them. */
const OF_ORDINARY = {
  burst: OF_ALL.burst - quarterOf(OF_ALL.burst),
  intervalMs: Math.ceil((4 / 3) * OF_ALL.intervalMs),
} as const;

/** A peer with requests that wait, oldest first. */
interface Line {
  readonly peer: HttpPeer;
  readonly waiting: Set<() => void>;
}

/** The turns of all peers. As many requests wait as have a slot (ConnectionSlots). */
export class RequestTurns {
  readonly #clock: Clock;
  readonly #all = new Turns(OF_ALL);
  readonly #ordinary = new Turns(OF_ORDINARY);
  readonly #trusted = new Paces<string>(OF_TRUSTED);
  readonly #shares = new Paces<number | 'unknown'>(OF_ONE);
  /** By the peer's name; the one whose turn is next is first. */
  readonly #lines = new Map<string, Line>();
  #alarm: Alarm | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a turn of a peer, which takes nothing of anybody's before it comes.
   *
   * @param signal aborts when the caller goes away
   * @throws the signal's reason when it aborts before the turn
   */
  take(peer: HttpPeer, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(asError(signal.reason));
        return;
      }
      const line = this.#lines.get(peer.name) ?? { peer, waiting: new Set() };
      const gone = (): void => {
        line.waiting.delete(come);
        if (line.waiting.size === 0) this.#lines.delete(peer.name);
        this.#serve();
        reject(asError(signal.reason));
      };
      const come = (): void => {
        signal.removeEventListener('abort', gone);
        resolve();
      };
      signal.addEventListener('abort', gone, { once: true });
      line.waiting.add(come);
      this.#lines.set(peer.name, line);
      this.#serve();
    });
  }

  /** Gives the turns that are there, and comes back for the next one. */
  #serve(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
    const now = this.#clock.mono();
    const next = (): Line | undefined => [...this.#lines.values()].find(({ peer }) => this.#waitMs(peer, now) === 0);
    for (let line = next(); line !== undefined; line = next()) this.#give(line, now);
    if (this.#lines.size === 0) return;
    const waits = [...this.#lines.values()].map(({ peer }) => this.#waitMs(peer, now));
    this.#alarm = this.#clock.alarm(Math.ceil(Math.min(...waits)), () => this.#serve());
  }

  /** Gives a turn to a line, which is behind all others then. */
  #give(line: Line, now: number): void {
    const { peer, waiting } = line;
    this.#all.book(1, now);
    if (peer.sharer === undefined) this.#trusted.book(peer.name, now);
    else {
      this.#ordinary.book(1, now);
      this.#shares.book(peer.sharer, now);
    }
    this.#lines.delete(peer.name);
    const [come] = waiting;
    if (come === undefined) return;
    waiting.delete(come);
    if (waiting.size > 0) this.#lines.set(peer.name, line);
    come();
  }

  /** Milliseconds until a peer may have a turn. */
  #waitMs({ name, sharer }: HttpPeer, now: number): number {
    const all = this.#all.waitMs(now);
    if (sharer === undefined) return Math.max(all, this.#trusted.waitMs(name, now));
    return Math.max(all, this.#ordinary.waitMs(now), this.#shares.waitMs(sharer, now));
  }
}
