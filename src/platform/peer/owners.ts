// What can be seen of the processes and control groups that leases are bound to: /proc and the cgroup file system.
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import type { OwnerPort } from '../../allocation/ports.js';
import type { CgroupLife } from '../../model/lease.js';
import { procStat } from '../process/proc-stat.js';

/** Where version 2 of control groups is mounted: alone, or beside version 1. */
const MOUNTS = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'] as const;

/** Looks at this machine. Each question reads one small file of the kernel's, which never waits for a disk. */
export const owners: OwnerPort = {
  startTimeOf: (pid) => {
    const seen = procStat(pid);
    return seen?.hasEnded === false ? seen.startTime : undefined;
  },
  cgroupOf: (pid) => {
    // The line of version 2 has no controllers: `0::/path`.
    const [, group] = /^0::(\/.*)$/m.exec(text(`/proc/${String(pid)}/cgroup`) ?? '') ?? [];
    return group === undefined ? undefined : lifeOf(group);
  },
  isPopulated: (cgroup) => {
    if (lifeOf(cgroup.path)?.inode !== cgroup.inode) return false;
    const events = MOUNTS.map((mount) => text(path.join(mount, cgroup.path, 'cgroup.events'))).find(
      (found) => found !== undefined,
    );
    // The root group has no such file, and never ends.
    return events === undefined || !/^populated 0$/m.test(events);
  },
};

/**
 * The same, but that one process or control group that is asked about many times at once is looked at once.
 *
 * @param nextTurn resolves after the event loop has looked at its sockets once
 */
export function onceATurn(port: OwnerPort, nextTurn: () => Promise<void>): OwnerPort {
  return {
    startTimeOf: once(
      (pid: number) => port.startTimeOf(pid),
      nextTurn,
      (pid) => pid,
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

function lifeOf(group: string): CgroupLife | undefined {
  for (const mount of MOUNTS) {
    const found = statSync(path.join(mount, group), { throwIfNoEntry: false });
    if (found !== undefined) return { path: group, inode: String(found.ino) };
  }
  return undefined;
}

function text(file: string): string | undefined {
  return ifPossible(() => readFileSync(file, 'latin1'));
}
