// A bucket by definition, to hold limiters against.
import type { BucketSettings } from '../../../src/model/settings.js';

/** A permit that was given out: when it was promised, and when its turn is. */
export interface Grant {
  readonly givenMs: number;
  readonly atMs: number;
}

/** Settings and since when they held. */
export interface Regime extends BucketSettings {
  readonly fromMs: number;
}

/** A bucket that earns continuously. */
export class IdealBucket {
  #settings: BucketSettings;
  #level: number;
  #atMs: number;

  constructor(settings: BucketSettings, nowMs: number) {
    this.#settings = settings;
    this.#level = settings.burst;
    this.#atMs = nowMs;
  }

  permits(nowMs: number): number {
    const { burst, intervalMs } = this.#settings;
    this.#level = Math.min(burst, this.#level + (nowMs - this.#atMs) / intervalMs);
    this.#atMs = nowMs;
    return Math.floor(this.#level + 1e-6);
  }

  nextInMs(nowMs: number): number {
    this.permits(nowMs);
    return Math.max(0, (1 - this.#level) * this.#settings.intervalMs);
  }

  spend(nowMs: number): void {
    this.permits(nowMs);
    this.#level -= 1;
  }

  resize(settings: BucketSettings, nowMs: number): void {
    this.permits(nowMs);
    // Reserved turns stay at their time.
    if (this.#level < 0) this.#level *= this.#settings.intervalMs / settings.intervalMs;
    this.#settings = settings;
    this.#level = Math.min(settings.burst, this.#level);
  }
}

/**
 * The first window in which more was given than the largest burst that held in it plus what its time earned, or
 * undefined. Every window that could be the worst begins and ends with a grant. A turn that was promised under settings
 * that were reloaded since is kept, so those settings go on counting until the last such turn.
 */
export function firstExcess(grants: readonly Grant[], regimes: readonly Regime[]): string | undefined {
  const spans = regimes.map((regime, index) => {
    const replacedMs = regimes[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
    const promised = grants.filter((grant) => grant.givenMs >= regime.fromMs && grant.givenMs <= replacedMs);
    return { ...regime, untilMs: Math.max(replacedMs, ...promised.map((grant) => grant.atMs)) };
  });
  const times = grants.map((grant) => grant.atMs).sort((a, b) => a - b);
  for (let first = 0; first < times.length; first += 1) {
    for (let last = first; last < times.length; last += 1) {
      const [from = 0, until = 0] = [times[first], times[last]];
      const given = last - first + 1;
      const allowed = mostAllowed(spans, from, until);
      if (given > allowed + 1e-6) return `${given} permits from ${from} to ${until} ms, where ${allowed} were allowed`;
    }
  }
  return undefined;
}

type Span = Regime & { readonly untilMs: number };

/** The largest burst, and the time at the fastest rate that held at each moment. */
function mostAllowed(spans: readonly Span[], from: number, until: number): number {
  const held = spans.filter((span) => span.fromMs <= until && span.untilMs >= from);
  const marks = [from, until, ...held.flatMap((span) => [span.fromMs, span.untilMs])];
  const edges = [...new Set(marks.filter((mark) => mark >= from && mark <= until))].sort((a, b) => a - b);
  let allowed = Math.max(...held.map((span) => span.burst));
  for (const [index, start] of edges.entries()) {
    const end = edges[index + 1];
    if (end === undefined) break;
    const present = held.filter((span) => span.fromMs <= start && span.untilMs >= end);
    allowed += (end - start) / Math.min(...present.map((span) => span.intervalMs));
  }
  return allowed;
}
