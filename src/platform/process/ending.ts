// The end of the process. process.exit waits for the threads of libuv's pool, so that a file operation which never
// returns would keep a process from ending that has said and written everything.
import type { Clock } from '../../kernel/clock.js';
import type { StopBudgets } from '../../kernel/stop-budgets.js';
import { boundNameCalls, isNameCallLate } from '../fs/name-calls.js';
import { nextTurn } from '../time/next-turn.js';
import { ownUid } from './own-uid.js';

/** Node's names of file operations under way. */
const ON_FILES: ReadonlySet<string> = new Set(['FSReqCallback', 'FSReqPromise']);
/** Turns of the loop in which operations that do end may end. */
const TURNS = 20;

/** Whether an operation on files is under way; one that hangs stays so. */
function isBusyWithFiles(): boolean {
  return isNameCallLate() || process.getActiveResourcesInfo().some((kind) => ON_FILES.has(kind));
}

/**
 * Ends the process at once: with a code, or, where an operation on files is under way and may never end, by a signal to
 * ourselves.
 *
 * @param handOver hands over the last lines of the log: nothing runs after the signal
 */
export function endAtOnce(code: number, handOver: () => void): void {
  if (!isBusyWithFiles()) process.exit(code);
  handOver();
  process.kill(process.pid, 'SIGKILL');
}

/**
 * Where a call about a name hangs, the process ends by a signal to itself, however it comes to its end: Node waits for its threads before
 * it ends, also where nothing is left to do.
 *
 * @param handOver as of `endAtOnce`
 */
export function endThoughCallsHang(handOver: () => void): void {
  process.once('exit', () => {
    handOver();
    if (isNameCallLate()) process.kill(process.pid, 'SIGKILL');
  });
}

/**
 * For a program beside the daemon, in directories whose locks users may hold: its calls about names have a deadline from now on, and it ends
 * though one hangs.
 */
export function waitForNoDirectory(clock: Pick<Clock, 'mono'>): void {
  boundNameCalls(() => clock.mono(), { ownUid: ownUid(), userOf: (uid) => uid });
  endThoughCallsHang(() => undefined);
}

/** Ends the process once operations on files that do end have ended, as `endAtOnce`. */
export async function end(code: number, wait: (ms: number) => Promise<void>, handOver: () => void): Promise<void> {
  // Where nothing keeps the loop alive the process ends by itself while it waits, and with this.
  process.exitCode = code;
  for (let turn = 0; turn < TURNS && isBusyWithFiles(); turn += 1) {
    await nextTurn();
    await wait(10);
  }
  endAtOnce(code, handOver);
}

/**
 * Ends the process when the time for a stop is over, even if work is under way.
 *
 * @param budgets the time, which may become later
 * @param overdue ends the process
 */
export function endInTime(clock: Clock, budgets: Pick<StopBudgets, 'endMs'>, overdue: () => void): void {
  clock.alarm(budgets.endMs(), () => {
    if (budgets.endMs() > 0) endInTime(clock, budgets, overdue);
    else overdue();
  });
}
