// A process as the system shows it in proc_pid_stat(5).
import { readFileSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';
import { textShown } from '../fs/name-calls.js';
import { ownUid } from './own-uid.js';

/** The errors of reading a file of a process that is not there any more: before it is opened, and after. */
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ESRCH']);
/** States of a process that has ended and was not waited for, or is being removed. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X', 'x']);

/** A process, as it was when it was looked at. */
export interface ProcStat {
  /** The first fifteen bytes of its own name. */
  readonly name: string;
  /** All its threads have ended, and nobody has waited for it yet. */
  readonly hasEnded: boolean;
  /**
   * Its first thread has ended. Where others have not, they are in a call of the kernel's that nothing interrupts, as on a disk that
   * hangs, and keep the descriptors of a process that was killed.
   */
  readonly firstHasEnded: boolean;
  readonly parent: number;
  readonly group: number;
  /** Clock ticks from the start of the machine to its own: tells it from a later one of the same number. */
  readonly startTime: string;
}

/** Looks at a process; undefined where there is none, or it may not be seen. @param uid of its user, as far as that is known */
export function procStat(pid: number, uid = ownUid()): ProcStat | undefined {
  const seen = lookAtProcess(pid, uid);
  return typeof seen === 'string' ? undefined : seen;
}

/**
 * The user whose rights a process has (its effective uid); undefined where there is none, or it may not be seen.
 *
 * @param proc where proc(5) is mounted
 */
export function procUid(pid: number, proc = '/proc'): number | undefined {
  const status = ifPossible(() => readFileSync(`${proc}/${String(pid)}/status`, 'latin1')) ?? '';
  const [, uid] = /^Uid:\s+\d+\s+(\d+)/m.exec(status) ?? [];
  return uid === undefined ? undefined : Number(uid);
}

/**
 * Looks at a process, for callers that must tell a missing process from a failed look: no descriptor is left, it is hidden, or its
 * directory does not answer. Never throws.
 *
 * @param uid of its user
 * @param proc where proc(5) is mounted
 */
export function lookAtProcess(pid: number, uid: number, proc = '/proc'): ProcStat | 'gone' | 'unseen' {
  try {
    // That of its first thread says the same of it, where /proc/PID/stat sums up all threads: 10 ms for 30,000 of them.
    return statOf(textShown(`${proc}/${String(pid)}/task/${String(pid)}/stat`, uid, 'utf8'));
  } catch (failure) {
    return GONE.has((failure as NodeJS.ErrnoException).code) ? 'gone' : 'unseen';
  }
}

function statOf(line: string): ProcStat {
  // The name is in parentheses and may contain anything, parentheses and line ends too; the rest is without them.
  const end = line.lastIndexOf(')');
  const [state = '', parent = '', group = '', ...rest] = line.slice(end + 2).split(' ');
  // The state is that of its first thread, which may end before the others. Fields 20 and 22; the rest begins with field 6.
  const threads = Number(rest[14] ?? '0');
  const firstHasEnded = ENDED.has(state);
  return {
    name: line.slice(line.indexOf('(') + 1, end),
    hasEnded: firstHasEnded && threads <= 1,
    firstHasEnded,
    parent: Number(parent),
    group: Number(group),
    startTime: rest[16] ?? '',
  };
}
