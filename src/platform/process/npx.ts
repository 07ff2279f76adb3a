// npx stands between a user and the program: a shell of npm's runs us, and killing npx (`kill %1`) kills neither of them.
import { systemClock } from '../time/system-clock.js';
import { ownUid } from './own-uid.js';
import { lookAtProcess, procStat } from './proc-stat.js';

const LOOK_EVERY_MS = 1_000;
/** npm's own process title: `npm exec plugin-broker …`, of which the system keeps fifteen bytes. */
const NPM = /^npm (exec|x)/;

/** A process as its parents are looked for. */
interface Seen {
  readonly name: string;
  readonly parent: number;
}

/**
 * The processes of npx to watch: our parent, or also its parent, where npx put a shell between.
 *
 * @param parent our parent's process id
 * @param see a process, or undefined where there is none (or it may not be seen)
 * @returns the ids in order, nearest first; empty where npx did not start us itself
 */
export function npxAbove(parent: number, see: (pid: number) => Seen | undefined): readonly number[] {
  const first = see(parent);
  if (first === undefined) return [];
  if (NPM.test(first.name)) return [parent];
  return NPM.test(see(first.parent)?.name ?? '') ? [parent, first.parent] : [];
}

/**
 * Ends this process as with SIGTERM, within a second, when the npx that started it is gone. Does nothing where npx did not
 * start it. A program that nobody sees any more would go on registering, or keep its root from the next one.
 */
export function endWithNpx(): void {
  if (process.env['npm_lifecycle_event'] !== 'npx') return;
  const [parent, above] = npxAbove(process.ppid, (pid) => procStat(pid));
  if (parent === undefined) return;
  const look = (): void => {
    if (process.ppid === parent && (above === undefined || isBelow(parent, above)))
      systemClock.alarm(LOOK_EVERY_MS, look);
    else process.kill(process.pid, 'SIGTERM');
  };
  look();
}

/** Whether a process has that parent; also where it cannot be seen, as while somebody holds the lock of its directory. */
function isBelow(pid: number, parent: number): boolean {
  const seen = lookAtProcess(pid, ownUid());
  return seen === 'unseen' || (seen !== 'gone' && seen.parent === parent);
}
