// A plugin in a crash loop, as a supervisor keeps it: each life has a new pid and a new socket name.
import type { ChildProcess } from 'node:child_process';
import type { SimLog } from '../sim-log.js';

/** Shortest time between two lives, so that a simulation that cannot start does not eat the machine. */
const LEAST_PAUSE_MS = 50;

/**
 * Starts one life after the other until the signal aborts.
 *
 * @param startLife starts a process that ends by itself
 */
export async function crashLoop(startLife: () => ChildProcess, log: SimLog, signal: AbortSignal): Promise<void> {
  for (let life = 1; !signal.aborted; life++) {
    const child = startLife();
    log.say('life-started', { life, child: child.pid });
    const onAbort = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', onAbort, { once: true });
    const [code, cause] = await ended(child);
    signal.removeEventListener('abort', onAbort);
    log.say('life-ended', { life, child: child.pid, code, signal: cause });
    await new Promise((resolve) => setTimeout(resolve, LEAST_PAUSE_MS));
  }
}

function ended(child: ChildProcess): Promise<[code: number | undefined, signal: string | undefined]> {
  return new Promise((resolve) => {
    child.once('exit', (code, cause) => resolve([code ?? undefined, cause ?? undefined]));
    child.once('error', () => resolve([undefined, undefined]));
  });
}
