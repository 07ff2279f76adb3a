// Tells the roots of brokers apart in directories that several of them use.
import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';

/**
 * 16 hexadecimal digits for a directory: the same in every life of a broker on it, others for another directory, also for
 * one of the same path in another container. @throws Error when it does not exist
 */
export function rootIdentity(root: string): string {
  const real = realpathSync(root);
  const { ino } = statSync(real, { bigint: true });
  return createHash('sha256')
    .update(`${real}\u0000${String(ino)}`)
    .digest('hex')
    .slice(0, 16);
}
