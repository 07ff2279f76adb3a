// A plugin that runs already, in a container or a terminal of its author.
import { procUid } from '../platform/process/proc-stat.js';
import type { Directories } from './directories.js';
import { signalTo } from './leftovers.js';
import { ownerOfSocket } from './sockets.js';
import type { Life, Registered, Subject } from './subject.js';

/** It is seen through the broker alone. */
export class AttachedPlugin implements Subject {
  readonly isOurs = false;
  readonly ends: readonly Life[] = [];
  readonly startedAt = undefined;
  readonly problem = undefined;
  readonly isBetweenLives = false;
  readonly written = 0;
  readonly #directories: Pick<Directories, 'devicePlugins' | 'registry' | 'plugins'>;

  /** @param directories those of its sockets */
  constructor(directories: Pick<Directories, 'devicePlugins' | 'registry' | 'plugins'>) {
    this.#directories = directories;
  }

  start(): void {
    // It runs already.
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  killNow(): void {
    // It is not ours to end.
  }

  /**
   * Sends a signal to the process that registered. If it passed its listening socket on and ended, its pid may belong to any
   * process by now, and `verify` may run as root: only a process of the user that made the socket is stopped. A process that was
   * stopped is continued in any case.
   */
  signal(registered: Registered | undefined, signal: NodeJS.Signals): boolean {
    if (registered === undefined || registered.pid <= 0) return false;
    const isItsOwn = signal === 'SIGCONT' || this.#isOfItsOwner(registered);
    return isItsOwn && signalTo(registered.pid, signal);
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

  #isOfItsOwner(registered: Registered): boolean {
    const uid = procUid(registered.pid);
    return uid !== undefined && uid === ownerOfSocket(this.#directories, registered);
  }
}
