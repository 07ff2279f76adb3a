import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { buildRoot } from '../dist.js';

/** See floor.ts. */
export type FloorMode = 'answer' | 'dial' | 'hold' | 'watch' | 'allocate' | 'bytes' | 'proxy' | 'register';

/** One of the programs of floor.ts as a process of its own. */
export class FloorProcess {
  readonly #child: ChildProcess;

  /** Starts it without waiting for anything. */
  constructor(mode: FloorMode, target: string) {
    const file = path.join(buildRoot(), 'build', 'bench', 'floor.cjs');
    this.#child = spawn(process.execPath, [file, mode, target], { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  /** Starts it and waits until it listens. */
  static async listening(mode: FloorMode, target: string): Promise<FloorProcess> {
    const floor = new FloorProcess(mode, target);
    if (floor.#child.stdout !== null) await once(floor.#child.stdout, 'data');
    return floor;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Closes what it dialled. */
  forget(): void {
    this.#child.kill('SIGUSR2');
  }

  async end(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
