// The visible state of the processes and control groups that leases are bound to: /proc and the cgroup file system.
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import type { OwnerPort } from '../../allocation/ports.js';
import type { CgroupLife, ProcessLife } from '../../model/lease.js';
import { lookAtProcess } from '../process/proc-stat.js';

/** Where the kernel shows them. */
interface Mounts {
  /** proc(5). */
  readonly proc: string;
  /** Version 2 of control groups: mounted alone, or beside version 1. */
  readonly mounts: readonly string[];
}

const MACHINE: Mounts = { proc: '/proc', mounts: ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'] };
/** Tells whether a group has processes. */
const EVENTS = 'cgroup.events';
/** Longer ones have no name for the kernel (path_resolution(7); the last byte is its end). */
const LONGEST_PATH = 4095;
/** The errors of a look at a group that is not there. */
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/**
 * Looks at a machine. Each question reads one small file of the kernel's, which never waits for a disk. No answer throws, even
 * for odd names of groups; they are bytes, one in each character (latin1).
 *
 * @param machine the paths of /proc and of the cgroup file systems
 */
export function ownersIn({ proc, mounts }: Mounts): OwnerPort {
  const longest = LONGEST_PATH - Math.max(...mounts.map((mount) => mount.length)) - `/${EVENTS}`.length;
  const lifeOf = (group: string): CgroupLife | 'unseen' | undefined => {
    // Where its files have no path nobody sees it become empty; and nothing above the mount is a group.
    if (group.length > longest || group.split('/').includes('..')) return undefined;
    let isSeen = true;
    for (const mount of mounts) {
      try {
        const { ino } = statSync(bytes(path.join(mount, group)));
        return { path: group, inode: String(ino) };
      } catch (failure) {
        isSeen &&= GONE.has((failure as NodeJS.ErrnoException).code);
      }
    }
    return isSeen ? undefined : 'unseen';
  };
  return {
    isAlive: ({ pid, startTime }) => {
      const seen = lookAtProcess(pid, proc);
      return seen === 'unseen' || (seen !== 'gone' && !seen.hasEnded && seen.startTime === startTime);
    },
    cgroupOf: (pid) => {
      // The line of version 2 has no controllers: `0::/path`. The path may have any byte but the end of a line.
      const lines = text(path.join(proc, String(pid), 'cgroup'))?.split('\n') ?? [];
      const group = lines.find((line) => line.startsWith('0::/'))?.slice('0::'.length);
      const life = group === undefined ? undefined : lifeOf(group);
      return life === 'unseen' ? undefined : life;
    },
    isPopulated: (cgroup) => {
      const life = lifeOf(cgroup.path);
      if (life === 'unseen') return true;
      if (life?.inode !== cgroup.inode) return false;
      const events = mounts
        .map((mount) => text(path.join(mount, cgroup.path, EVENTS)))
        .find((found) => found !== undefined);
      // The root group has no such file, and never ends.
      return events === undefined || !/^populated 0$/m.test(events);
    },
  };
}

/** Looks at this machine. */
export const owners: OwnerPort = ownersIn(MACHINE);

/**
 * The same, but that one process or control group that is asked about many times at once is looked at once.
 *
 * @param nextTurn resolves after the event loop has looked at its sockets once
 */
export function onceATurn(port: OwnerPort, nextTurn: () => Promise<void>): OwnerPort {
  return {
    isAlive: once(
      (process: ProcessLife) => port.isAlive(process),
      nextTurn,
      ({ pid, startTime }) => `${String(pid)} ${startTime}`,
    ),
    cgroupOf: once(
      (pid: number) => port.cgroupOf(pid),
      nextTurn,
      (pid) => pid,
    ),
    isPopulated: once(
      (cgroup: CgroupLife) => port.isPopulated(cgroup),
      nextTurn,
      ({ path: group, inode }) => `${inode} ${group}`,
    ),
  };
}

function once<T, Answer>(
  ask: (about: T) => Answer,
  nextTurn: () => Promise<void>,
  nameOf: (about: T) => number | string,
): (about: T) => Answer {
  const answers = new Map<number | string, { readonly answer: Answer }>();
  return (about) => {
    const name = nameOf(about);
    const known = answers.get(name);
    if (known !== undefined) return known.answer;
    if (answers.size === 0) void nextTurn().then(() => answers.clear());
    const answer = ask(about);
    answers.set(name, { answer });
    return answer;
  };
}

function text(file: string): string | undefined {
  return ifPossible(() => readFileSync(bytes(file), 'latin1'));
}

/** A path of bytes for the system, which would be given the characters in UTF-8 otherwise. */
function bytes(file: string): Buffer {
  return Buffer.from(file, 'latin1');
}
