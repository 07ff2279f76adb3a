// The umask of the process: the modes that new files do not get.
import { readFileSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';

/** The umask of the process, without changing it for a moment as umask(2) does; undefined where the system does not tell. */
export function umask(): number | undefined {
  const status = ifPossible(() => readFileSync('/proc/self/status', 'latin1')) ?? '';
  const [, octal] = /^Umask:\s*([0-7]+)$/m.exec(status) ?? [];
  return octal === undefined ? undefined : parseInt(octal, 8);
}
