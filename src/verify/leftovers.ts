// Finds processes by a mark in their environment: also those that left their process group or their parent.
import { readdirSync, readFileSync } from 'node:fs';

/** The variable that marks everything a rig starts. */
export const MARK = 'PLUGIN_BROKER_VERIFY';

/** A process that was found. */
export interface Found {
  readonly pid: number;
  /** Its process group. */
  readonly group: number;
  readonly command: string;
}

/** Living processes whose mark begins with `prefix`. Those of other users cannot be seen. */
export function marked(prefix: string): Found[] {
  const found: Found[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const mark = `\0${MARK}=${prefix}`;
      if (!`\0${readFileSync(`/proc/${name}/environ`, 'latin1')}`.includes(mark)) continue;
      // proc_pid_stat(5): the name in parentheses may hold anything; after it come state, parent and process group.
      const [, command = '', state = '', group = ''] =
        /^\d+ \((.*)\) (\S) \d+ (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      if (!'ZX'.includes(state)) found.push({ pid, group: Number(group), command });
    } catch {
      // It has ended meanwhile, or is not ours to look into.
    }
  }
  return found;
}

/** Sends a signal to a process, or with a negative pid to a process group; those that are gone are no error. */
export function signalTo(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
