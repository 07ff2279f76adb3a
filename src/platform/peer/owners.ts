// The visible state of the processes and control groups that leases are bound to: /proc and the cgroup file system.
import { closeSync, fstatSync } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import type { OwnerPort } from '../../allocation/ports.js';
import type { CgroupLife, ProcessLife } from '../../model/lease.js';
import { O_PATH, openShown, textShown } from '../fs/name-calls.js';
import { lookAtProcess } from '../process/proc-stat.js';

/** Where the kernel shows them. */
interface Mounts {
  /** proc(5). */
  readonly proc: string;
  /** Version 2 of control groups: mounted alone, or beside version 1. */
  readonly mounts: readonly string[];
}

const MACHINE: Mounts = { proc: '/proc', mounts: ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'] };
/** The root of each file system of version 2 has it. */
const ROOT_FILE = 'cgroup.controllers';
/** Tells whether a group has processes. */
const EVENTS = 'cgroup.events';
/** Longer ones have no name for the kernel (path_resolution(7); the last byte is its end). */
const LONGEST_PATH = 4095;
/** The errors of a look at a group that is not there. */
const GONE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/**
 * Looks at a machine. Each question reads one small file of the kernel's, which never waits for a disk, nor for the lock of a directory
 * (`openShown`, platform/fs/name-calls). No answer throws, even
 * for odd names of groups; they are bytes, one in each character (latin1).
 *
 * @param machine the paths of /proc and of the cgroup file systems
 */
export function ownersIn({ proc, mounts }: Mounts): OwnerPort {
  const longest = LONGEST_PATH - Math.max(...mounts.map((mount) => mount.length)) - `/${EVENTS}`.length;
  // Those of version 2. A name that is missing on another file system is in no cache there.
  let known: readonly string[] | undefined;
  const places = (): readonly string[] => {
    const found = known ?? mounts.filter((mount) => text(path.join(mount, ROOT_FILE), 0) !== undefined);
    if (found.length === 0) return mounts;
    known = found;
    return found;
  };
  const lifeOf = (group: string, uid: number): CgroupLife | 'unseen' | undefined => {
    // Where its files have no path nobody sees it become empty; and nothing above the mount is a group.
    if (group.length > longest || group.split('/').includes('..')) return undefined;
    let isSeen = true;
    for (const mount of places()) {
      try {
        return { path: group, inode: inodeOf(path.join(mount, group), uid) };
      } catch (failure) {
        isSeen &&= GONE.has((failure as NodeJS.ErrnoException).code);
      }
    }
    return isSeen ? undefined : 'unseen';
  };
  return {
    isAlive: ({ pid, startTime }, uid) => {
      const seen = lookAtProcess(pid, uid, proc);
      return seen === 'unseen' || (seen !== 'gone' && !seen.hasEnded && seen.startTime === startTime);
    },
    cgroupOf: (pid, uid) => {
      // The line of version 2 has no controllers: `0::/path`. The path may have any byte but the end of a line.
      const lines = text(path.join(proc, String(pid), 'cgroup'), uid)?.split('\n') ?? [];
      const group = lines.find((line) => line.startsWith('0::/'))?.slice('0::'.length);
      const life = group === undefined ? undefined : lifeOf(group, uid);
      return life === 'unseen' ? undefined : life;
    },
    isPopulated: (cgroup, uid) => {
      const life = lifeOf(cgroup.path, uid);
      if (life === 'unseen') return true;
      if (life?.inode !== cgroup.inode) return false;
      const events = places()
        .map((mount) => text(path.join(mount, cgroup.path, EVENTS), uid))
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
      (process: ProcessLife, uid) => port.isAlive(process, uid),
      nextTurn,
      ({ pid, startTime }) => `${String(pid)} ${startTime}`,
    ),
    cgroupOf: once(
      (pid: number, uid) => port.cgroupOf(pid, uid),
      nextTurn,
      (pid) => pid,
    ),
    isPopulated: once(
      (cgroup: CgroupLife, uid) => port.isPopulated(cgroup, uid),
      nextTurn,
      ({ path: group, inode }) => `${inode} ${group}`,
    ),
  };
}

function once<T, Answer>(
  ask: (about: T, uid: number) => Answer,
  nextTurn: () => Promise<void>,
  nameOf: (about: T) => number | string,
): (about: T, uid: number) => Answer {
  const answers = new Map<number | string, { readonly answer: Answer }>();
  return (about, uid) => {
    const name = nameOf(about);
    const known = answers.get(name);
    if (known !== undefined) return known.answer;
    if (answers.size === 0) void nextTurn().then(() => answers.clear());
    const answer = ask(about, uid);
    answers.set(name, { answer });
    return answer;
  };
}

function text(file: string, uid: number): string | undefined {
  return ifPossible(() => textShown(file, uid));
}

/** @throws NodeJS.ErrnoException */
function inodeOf(file: string, uid: number): string {
  const fd = openShown(file, O_PATH, uid);
  try {
    return String(fstatSync(fd).ino);
  } finally {
    closeSync(fd);
  }
}
