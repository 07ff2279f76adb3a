import path from 'node:path';
import type { DeviceSimOptions } from '../../src/sim/device/options.js';
import { runDeviceSim, type SimProcess } from '../../src/sim/device/run-device-sim.js';
import { eventually } from './eventually.js';
import { deviceSimOptions } from './sim-options.js';

/** A line of a simulation. */
export type SimLine = Readonly<Record<string, unknown>> & { readonly event: string };

/** A simulation inside the test's process. */
export class RunningSim {
  readonly lines: SimLine[] = [];
  /** Exit codes with which it would have died on the spot. */
  readonly deaths: number[] = [];
  readonly socket: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<number>;

  constructor(dir: string, given: Partial<DeviceSimOptions>, around: Partial<SimProcess> = {}) {
    const options = deviceSimOptions({ dir, registry: dir, ...given });
    this.socket = path.join(dir, options.socketName ?? `${options.resource.replaceAll('/', '_')}.sock`);
    this.#ended = runDeviceSim(options, this.#stop.signal, {
      write: (line) => void this.lines.push(JSON.parse(line) as SimLine),
      die: (code) => void this.deaths.push(code),
      isOneLife: false,
      startLife: () => {
        throw new Error('this test starts no processes');
      },
      ...around,
    });
  }

  /** Lines of one event. */
  of(event: string): SimLine[] {
    return this.lines.filter((line) => line.event === event);
  }

  /** Waits for the nth line of an event. */
  async saw(event: string, nth = 1): Promise<SimLine> {
    await eventually(
      `${String(nth)} x ${event} in ${this.lines.map((line) => line.event).join(' ')}`,
      () => this.of(event).length >= nth,
    );
    return this.of(event)[nth - 1] as SimLine;
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
