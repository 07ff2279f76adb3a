// Finds processes by a mark in their environment: also those that left their process group or their parent.
import { readdirSync, readFileSync } from 'node:fs';
import { procStat } from '../platform/process/proc-stat.js';

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
      const seen = procStat(pid);
      if (seen?.hasEnded === false) found.push({ pid, group: seen.group, command: seen.name });
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
