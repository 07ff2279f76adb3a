// Finds processes by a mark in their environment: also those that left their process group or their parent.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { isOursOrRoots } from '../platform/process/own-uid.js';
import { procStat, procUid } from '../platform/process/proc-stat.js';

/** The variable that marks everything a rig starts. */
export const MARK = 'PLUGIN_BROKER_VERIFY';

/**
 * Octets of an environment that are looked at: the kernel starts nobody with more than 6 MiB of it, but a process may say later that
 * gigabytes of its memory are its environment (PR_SET_MM_MAP), and there may be thousands of such processes.
 */
const MOST_BYTES = { ours: 6 * 1024 * 1024, others: 128 * 1024 } as const;

/** A process that was found. */
export interface Found {
  readonly pid: number;
  /** Its process group. */
  readonly group: number;
  readonly command: string;
}

/**
 * Living processes whose mark begins with `prefix`. Those of other users cannot be seen but by root, which sees it in the first 128 KiB of
 * their environment.
 *
 * @param proc where proc(5) is mounted
 */
export function marked(prefix: string, proc = '/proc'): Found[] {
  const found: Found[] = [];
  for (const name of readdirSync(proc)) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const mark = `\0${MARK}=${prefix}`;
      const uid = procUid(pid, proc);
      const most = uid !== undefined && isOursOrRoots(uid) ? MOST_BYTES.ours : MOST_BYTES.others;
      if (!`\0${beginOf(`${proc}/${name}/environ`, most)}`.includes(mark)) continue;
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

/** The first octets of a file, at most so many. */
function beginOf(file: string, most: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.allocUnsafe(64 * 1024);
    let text = '';
    while (text.length < most) {
      const length = readSync(descriptor, bytes, 0, Math.min(bytes.length, most - text.length), null);
      if (length === 0) break;
      text += bytes.toString('latin1', 0, length);
    }
    return text;
  } finally {
    closeSync(descriptor);
  }
}
