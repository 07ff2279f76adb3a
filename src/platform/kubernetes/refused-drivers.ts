// Drivers that the API server does not take, and the search for them among those that were refused together. The kubelet writes for
// each driver alone; here one driver that is refused must not keep the others from being published.
import type { NodeInfo } from '../../csi/node-info.js';
import { enterLast } from '../../kernel/enter-last.js';
import { ApiFailure } from './api-failure.js';

/** A write that was refused, which may be due to one driver: a label is protected, or the annotations would become too large. */
export class RefusedWrite extends ApiFailure {}

/** Drivers to publish, by name. */
export type Drivers = ReadonlyMap<string, NodeInfo>;

/** A round that was refused. */
export interface RefusedRound {
  /** All drivers. */
  readonly wanted: Drivers;
  /** Those of the round. */
  readonly tried: Drivers;
  readonly refusal: RefusedWrite;
  /** When it began, in milliseconds of the monotonic clock. */
  readonly nowMs: number;
}

interface Part {
  readonly drivers: Drivers;
  /** Set where it is one driver, which is refused. */
  readonly refusal?: RefusedWrite;
}

/**
 * A driver that was refused is left out for so long, in milliseconds, whatever it says meanwhile: twice as long each time, up to the
 * second figure.
 */
const REFUSED_MS = [60_000, 600_000] as const;
/** Drivers that were refused before and are tried again in one attempt: a search for so few is at its end in one. */
const MOST_AGAIN = 8;
/** Why another of them is not tried yet. */
const WAITS = 'it was refused before, and others that were are tried first';
/** Rounds of one search. The API server has other clients: drivers that are left then wait for the next attempt. */
const MAX_ROUNDS = 64;

/** A search that found some refused drivers and is not at its end: the next attempt goes on. */
export class UnfinishedSearch extends ApiFailure {}

/** Drivers of which it is remembered how often they were refused: those refused last. */
const MAX_REMEMBERED = 1024;

/** The drivers that were refused. */
export class RefusedDrivers {
  readonly #known = new Map<string, { readonly message: string; readonly untilMs: number }>();
  /** How often each was refused since it was taken, also while it is away; the one that was refused last at the end. */
  readonly #times = new Map<string, number>();

  /**
   * The drivers that are to be tried: those that were never refused, and behind them a few of those that were, but not lately. So a
   * user with many such drivers keeps no other from being found good. All of them where all were refused lately, because that is due
   * to none of them: a right may have been missing.
   *
   * @param nowMs milliseconds of the monotonic clock
   */
  toTry(wanted: Drivers, nowMs: number): Drivers {
    for (const driver of this.#known.keys()) if (!wanted.has(driver)) this.#known.delete(driver);
    const tried = new Map([...wanted].filter(([driver]) => !this.#times.has(driver)));
    const isOver = (driver: string): boolean => (this.#known.get(driver)?.untilMs ?? 0) <= nowMs;
    const again = [...this.#times.keys()].filter((driver) => wanted.has(driver) && isOver(driver));
    for (const driver of again.slice(0, MOST_AGAIN)) tried.set(driver, wanted.get(driver) as NodeInfo);
    // The sentence of a driver that left was dropped. When it is back it needs one again, or it would pass for published.
    const message = (driver: string): string => `CSI driver ${driver} is not published yet: ${WAITS}`;
    for (const driver of again.slice(MOST_AGAIN))
      if (!this.#known.has(driver)) this.#known.set(driver, { message: message(driver), untilMs: nowMs });
    return tried.size === 0 ? wanted : tried;
  }

  /** These were taken. */
  taken(drivers: Drivers): void {
    for (const driver of drivers.keys()) {
      this.#known.delete(driver);
      this.#times.delete(driver);
    }
  }

  /** A sentence for each driver that is left out. */
  get sentences(): ReadonlyMap<string, string> {
    return new Map([...this.#known].map(([driver, { message }]) => [driver, message]));
  }

  /**
   * Publishes those drivers of a refused round that are taken, and finds the others. Those found are kept when it throws, too, so that
   * the next search is shorter.
   *
   * @param round publishes some of them, and tells contradictions with a sentence for each
   * @returns contradictions; the sentences of refused drivers are in `sentences`
   * @throws RefusedWrite, where all are refused; UnfinishedSearch; every other failure of `round`
   */
  async search(
    { wanted, tried, refusal, nowMs }: RefusedRound,
    round: (drivers: Drivers) => Promise<ReadonlyMap<string, string>>,
  ): Promise<ReadonlyMap<string, string>> {
    if (this.#areAllOut(wanted, nowMs)) throw refusal;
    const conflicts = new Map<string, string>();
    const parts = partsOf(tried, refusal);
    let rounds = 0;
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const { drivers } = part;
      if (part.refusal !== undefined) {
        this.#refuse(drivers, part.refusal, nowMs);
      } else {
        if (rounds === MAX_ROUNDS) throw new UnfinishedSearch(refusal.status, refusal.message);
        rounds += 1;
        try {
          for (const [driver, message] of await round(drivers)) conflicts.set(driver, message);
          this.taken(drivers);
        } catch (failure) {
          if (!(failure instanceof RefusedWrite)) throw failure;
          parts.push(...partsOf(drivers, failure));
        }
      }
    }
    if (this.#areAllOut(wanted, nowMs)) throw refusal;
    return conflicts;
  }

  #areAllOut(wanted: Drivers, nowMs: number): boolean {
    return [...wanted.keys()].every((driver) => (this.#known.get(driver)?.untilMs ?? 0) > nowMs);
  }

  #refuse(drivers: Drivers, { message: why }: RefusedWrite, nowMs: number): void {
    for (const driver of drivers.keys()) {
      const message = `CSI driver ${driver} is not published: ${why}`;
      const times = (this.#times.get(driver) ?? 0) + 1;
      const [first, most] = REFUSED_MS;
      enterLast(this.#times, driver, times, MAX_REMEMBERED);
      this.#known.set(driver, { message, untilMs: nowMs + Math.min(most, first * 2 ** (times - 1)) });
    }
  }
}

/** The halves of drivers that were refused together, the first one last; one driver is at fault itself. */
function partsOf(drivers: Drivers, refusal: RefusedWrite): Part[] {
  if (drivers.size < 2) return [{ drivers, refusal }];
  const all = [...drivers];
  const half = all.length >> 1;
  return [{ drivers: new Map(all.slice(half)) }, { drivers: new Map(all.slice(0, half)) }];
}
