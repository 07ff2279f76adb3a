import os from 'node:os';

/** The name of this machine, as people know it. */
export function hostName(): string {
  return os.hostname();
}
