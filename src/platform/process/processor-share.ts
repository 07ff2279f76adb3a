// How much of a processor the control groups of this process leave it (cgroups(7)): `limits.cpu` of a container, `CPUQuota` of a unit.
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { textShown } from '../fs/name-calls.js';
import { ownUid } from './own-uid.js';

/** Shares below this are taken for it: work that has a part of the processor is to go on. */
const LEAST = 0.05;
/** Groups within each other that are looked at. The kernel lets them be deeper; nobody makes them so. */
const MOST_LEVELS = 32;

/**
 * The part of one processor that this process may use, from 0.05 to 1: the least that its group or one around it sets, with version 2
 * of control groups (`cpu.max`) or version 1 (`cpu.cfs_quota_us`). 1 where none sets less, or nothing can be read. A quota that is
 * changed later counts at the next start.
 *
 * @param proc where proc(5) is mounted
 * @param mounted where control groups are mounted
 */
export function processorShare(proc = '/proc', mounted = '/sys/fs/cgroup'): number {
  const groups = textOf(path.join(proc, 'self/cgroup'))?.trim().split('\n') ?? [];
  const quotas = groups.flatMap((line) => quotasOf(line, mounted));
  return Math.max(LEAST, Math.min(1, ...quotas));
}

/** @param line `0::/path` of version 2, `4:cpu,cpuacct:/path` of version 1 (the path may hold colons) */
function quotasOf(line: string, mounted: string): readonly number[] {
  const [, controllers = '', group = ''] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
  if (controllers === '') return levels(group).map((level) => quotaV2(path.join(mounted, level)));
  if (!controllers.split(',').includes('cpu')) return [];
  return levels(group).map((level) => quotaV1(path.join(mounted, controllers, level)));
}

/** A group and those around it, up to the root: in a container the root of the mount is the group of the container. */
function levels(group: string): readonly string[] {
  const names = group.split('/').filter((name) => name !== '' && name !== '..');
  const deepest = names.slice(0, MOST_LEVELS);
  return [...deepest.map((_, index) => deepest.slice(0, index + 1).join('/')), ''];
}

/** `20000 100000`, or `max 100000`. */
function quotaV2(folder: string): number {
  const [quota, period] = textOf(path.join(folder, 'cpu.max'))?.trim().split(' ') ?? [];
  return share(quota, period);
}

/** -1 where there is none. */
function quotaV1(folder: string): number {
  return share(textOf(path.join(folder, 'cpu.cfs_quota_us')), textOf(path.join(folder, 'cpu.cfs_period_us')));
}

function share(quota: string | undefined, period: string | undefined): number {
  const part = Number(quota) / Number(period);
  return part > 0 ? part : 1;
}

function textOf(file: string): string | undefined {
  return ifPossible(() => textShown(file, ownUid()));
}
