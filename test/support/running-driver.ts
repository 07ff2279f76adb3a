import type { DriverProcess } from '../../src/sim/driver-life.js';
import { eventually } from './eventually.js';

/** A line of a simulated driver. */
export type DriverLine = Readonly<Record<string, unknown>> & { readonly event: string };

/** A simulated driver inside the test's process. */
export class RunningDriver {
  readonly lines: DriverLine[] = [];
  /** Exit codes with which it would have died on the spot. */
  readonly deaths: number[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<number>;

  constructor(run: (signal: AbortSignal, around: DriverProcess) => Promise<number>) {
    this.#ended = run(this.#stop.signal, {
      write: (line) => void this.lines.push(JSON.parse(line) as DriverLine),
      die: (code) => void this.deaths.push(code),
    });
  }

  /** Lines of one event. */
  of(event: string): DriverLine[] {
    return this.lines.filter((line) => line.event === event);
  }

  /** Waits for the nth line of an event. */
  async saw(event: string, nth = 1): Promise<DriverLine> {
    await eventually(`${nth} x ${event}`, () => this.of(event).length >= nth);
    return this.of(event)[nth - 1] ?? { event };
  }

  /** Its exit code, when it ends by itself. */
  ended(): Promise<number> {
    return this.#ended;
  }

  /** Ends it as SIGTERM does. */
  stop(): Promise<number> {
    this.#stop.abort();
    return this.#ended;
  }
}
