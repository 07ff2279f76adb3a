// What the system says of a process in /proc/PID/stat (proc_pid_stat(5)).
import { readFileSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';

/** States of a process that has ended and was not waited for, or is being removed. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X', 'x']);

/** A process, as it was when it was looked at. */
export interface ProcStat {
  /** The first fifteen bytes of what it calls itself. */
  readonly name: string;
  /** It has ended, and nobody has waited for it yet. */
  readonly hasEnded: boolean;
  readonly parent: number;
  readonly group: number;
  /** Clock ticks from the start of the machine to its own: tells it from a later one of the same number. */
  readonly startTime: string;
}

/** Looks at a process; undefined where there is none, or it may not be seen. */
export function procStat(pid: number): ProcStat | undefined {
  const line = ifPossible(() => readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
  if (line === undefined) return undefined;
  // The name is in parentheses and may contain anything, parentheses and line ends too; the rest is without them.
  const end = line.lastIndexOf(')');
  const [state = '', parent = '', group = '', ...rest] = line.slice(end + 2).split(' ');
  return {
    name: line.slice(line.indexOf('(') + 1, end),
    hasEnded: ENDED.has(state),
    parent: Number(parent),
    group: Number(group),
    // Field 22; the rest begins with field 6.
    startTime: rest[16] ?? '',
  };
}
