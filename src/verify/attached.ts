// A plugin that runs already, in a container or a terminal of its author.
import { signalTo } from './leftovers.js';
import type { Life, Subject } from './subject.js';

/** It is seen through the broker alone. */
export class AttachedPlugin implements Subject {
  readonly isOurs = false;
  readonly ends: readonly Life[] = [];
  readonly startedAt = undefined;
  readonly problem = undefined;
  readonly isBetweenLives = false;
  readonly written = 0;

  start(): void {
    // It runs already.
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  killNow(): void {
    // It is not ours to end.
  }

  signal(pid: number, signal: NodeJS.Signals): boolean {
    return pid > 0 && signalTo(pid, signal);
  }

  output(): string {
    return '';
  }

  lastLine(): string {
    return '';
  }

  crashSince(): undefined {
    return undefined;
  }
}
