// Numbers by labels, kept without any package, and written in the text format that Prometheus reads (version 0.0.4).
import { cleanText } from '../log/clean-text.js';

/** Series of one metric; values beyond it are counted under `other`. */
const MOST_SERIES = 2048;
/** Of the resources of one ordinary user; all such users together have three times as many, so that invented names hide no others. */
const MOST_OF_USER = MOST_SERIES / 4;
/** Longest label value. */
const LONGEST_LABEL = 128;
/** Stands for the label values that have no room. */
const OTHER = 'other';

/** One series: label values in the order of the metric's labels. */
export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
}

/** Adds up by labels. Bounded for any labels. */
export class Tally {
  readonly #values = new Map<string, { readonly labels: readonly string[]; value: number }>();

  /** How many series each ordinary user has made, and all of them together. */
  readonly #ofUser = new Map<number, number>();
  #ofStrangers = 0;

  /**
   * Adds to the series of these labels; the first label falls to `other` when there is no room for one more.
   *
   * @param stranger the ordinary user who chose the first label; undefined: root, the broker's user, or nobody
   */
  add(labels: readonly string[], by = 1, stranger?: number): void {
    const key = labels.join('\0');
    const known = this.#values.get(key);
    if (known !== undefined) known.value += by;
    else if (labels[0] === OTHER) this.#values.set(key, { labels, value: by });
    else if (this.#takeRoom(stranger)) this.#values.set(key, { labels, value: by });
    else this.add([OTHER, ...labels.slice(1)], by);
  }

  #takeRoom(stranger: number | undefined): boolean {
    if (this.#values.size >= MOST_SERIES) return false;
    if (stranger === undefined) return true;
    const own = this.#ofUser.get(stranger) ?? 0;
    if (own >= MOST_OF_USER || this.#ofStrangers >= 3 * MOST_OF_USER) return false;
    this.#ofUser.set(stranger, own + 1);
    this.#ofStrangers += 1;
    return true;
  }

  samples(): readonly Sample[] {
    return [...this.#values.values()];
  }
}

/** Upper bounds of the buckets of every duration, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Counts durations by bucket and labels. */
export class Durations {
  readonly #buckets = new Tally();
  readonly #sums = new Tally();

  observe(labels: readonly string[], seconds: number): void {
    const bound = SECONDS.find((limit) => seconds <= limit);
    this.#buckets.add([...labels, bound === undefined ? '+Inf' : String(bound)]);
    this.#sums.add(labels, seconds);
  }

  /** The lines of a histogram: cumulative buckets, sum and count. */
  lines(name: string, labelNames: readonly string[]): string[] {
    const counts = new Map(this.#buckets.samples().map(({ labels, value }) => [labels.join('\0'), value]));
    return this.#sums.samples().flatMap(({ labels, value: sum }) => {
      let soFar = 0;
      const buckets = [...SECONDS.map(String), '+Inf'].map((bound) => {
        soFar += counts.get([...labels, bound].join('\0')) ?? 0;
        return line(`${name}_bucket`, [...labelNames, 'le'], [...labels, bound], soFar);
      });
      return [
        ...buckets,
        line(`${name}_sum`, labelNames, labels, sum),
        line(`${name}_count`, labelNames, labels, soFar),
      ];
    });
  }
}

/** One line of the text format. */
export function line(name: string, labelNames: readonly string[], labels: readonly string[], value: number): string {
  if (labelNames.length === 0) return `${name} ${value}`;
  const pairs = labelNames.map((label, index) => `${label}="${escaped(labels[index] ?? '')}"`);
  return `${name}{${pairs.join(',')}} ${value}`;
}

function escaped(text: string): string {
  return cleanText(text, LONGEST_LABEL).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}
