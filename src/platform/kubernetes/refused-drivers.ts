// Drivers that the API server does not take, and the search for them among those that were refused together. The kubelet writes for
// each driver alone; here one driver that is refused must not keep the others from being published.
import type { NodeInfo } from '../../csi/node-info.js';
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

/** A driver that was refused is left out for so long, in milliseconds, whatever it says meanwhile. */
const REFUSED_MS = 60_000;
/** Rounds of one search. The API server has other clients: what is left then waits for the next attempt. */
const MAX_ROUNDS = 64;
/** Drivers that are remembered as refused beyond that time, those refused last. */
const MAX_REMEMBERED = 1024;

/** The drivers that were refused lately. */
export class RefusedDrivers {
  readonly #known = new Map<string, { readonly message: string; readonly untilMs: number }>();
  /** Drivers that were refused and not taken since, whether they are there or not. They are searched through last. */
  readonly #suspects = new Set<string>();

  /**
   * The drivers that are to be tried: those that were not refused lately. All of them where all were, because that is due to none of
   * them: a right may have been missing.
   *
   * @param nowMs milliseconds of the monotonic clock
   */
  toTry(wanted: Drivers, nowMs: number): Drivers {
    for (const [driver, { untilMs }] of this.#known)
      if (untilMs <= nowMs || !wanted.has(driver)) this.#known.delete(driver);
    if (this.#known.size === 0 || this.#known.size === wanted.size) return wanted;
    return new Map([...wanted].filter(([driver]) => !this.#known.has(driver)));
  }

  /** These were taken. */
  taken(drivers: Drivers): void {
    for (const driver of drivers.keys()) {
      this.#known.delete(driver);
      this.#suspects.delete(driver);
    }
  }

  /** A sentence for each driver that is left out. */
  get sentences(): ReadonlyMap<string, string> {
    return new Map([...this.#known].map(([driver, { message }]) => [driver, message]));
  }

  /**
   * Publishes those drivers of a refused round that are taken, and finds the others. What is found counts also when it throws, so
   * that the next search is shorter.
   *
   * @param round publishes some of them, and tells contradictions with a sentence for each
   * @returns contradictions; the sentences of refused drivers are in `sentences`
   * @throws RefusedWrite, where all are refused or the search is not at its end yet; every other failure of `round`
   */
  async search(
    { wanted, tried, refusal, nowMs }: RefusedRound,
    round: (drivers: Drivers) => Promise<ReadonlyMap<string, string>>,
  ): Promise<ReadonlyMap<string, string>> {
    if (this.#known.size === wanted.size) throw refusal;
    const conflicts = new Map<string, string>();
    const parts = this.#partsOf(tried, refusal);
    let rounds = 0;
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const { drivers } = part;
      if (part.refusal !== undefined) {
        this.#refuse(drivers, part.refusal, nowMs);
      } else {
        if (rounds === MAX_ROUNDS) throw refusal;
        rounds += 1;
        try {
          for (const [driver, message] of await round(drivers)) conflicts.set(driver, message);
        } catch (failure) {
          if (!(failure instanceof RefusedWrite)) throw failure;
          parts.push(...partsOf(drivers, failure));
        }
      }
    }
    if (this.#known.size === wanted.size) throw refusal;
    return conflicts;
  }

  /** Many that are refused again and again would take all rounds, and a driver behind them would never have its turn. */
  #partsOf(tried: Drivers, refusal: RefusedWrite): Part[] {
    const others = new Map([...tried].filter(([driver]) => !this.#suspects.has(driver)));
    if (others.size === 0 || others.size === tried.size) return partsOf(tried, refusal);
    const suspects = new Map([...tried].filter(([driver]) => this.#suspects.has(driver)));
    return [{ drivers: suspects }, { drivers: others }];
  }

  #refuse(drivers: Drivers, { message: why }: RefusedWrite, nowMs: number): void {
    for (const driver of drivers.keys()) {
      const message = `CSI driver ${driver} is not published: ${why}`;
      this.#known.set(driver, { message, untilMs: nowMs + REFUSED_MS });
      this.#suspects.delete(driver);
      this.#suspects.add(driver);
      const [oldest] = this.#suspects;
      if (this.#suspects.size > MAX_REMEMBERED && oldest !== undefined) this.#suspects.delete(oldest);
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
