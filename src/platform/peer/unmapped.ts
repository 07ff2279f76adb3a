// Users that the user namespace of this process does not know (user_namespaces(7)).
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';

/** Uids that there are: the last value of 32 bits is none. */
const ALL_UIDS = 0xffff_ffff;

/**
 * The one uid by which the kernel shows all users that the user namespace of this process does not map, root of the machine
 * among them. Undefined where it maps everybody, as on a machine without containers, and where the system does not tell.
 *
 * @param proc where proc(5) is mounted
 */
export function unmappedUid(proc = '/proc'): number | undefined {
  const read = (name: string): string | undefined => ifPossible(() => readFileSync(path.join(proc, name), 'latin1'));
  const ranges = read('self/uid_map')?.trim().split('\n');
  const mapped = ranges?.reduce((sum, range) => sum + Number(range.trim().split(/\s+/)[2]), 0) ?? ALL_UIDS;
  if (!(mapped < ALL_UIDS)) return undefined;
  const uid = Number(read('sys/kernel/overflowuid') ?? NaN);
  return Number.isInteger(uid) ? uid : undefined;
}
