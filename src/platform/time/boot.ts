import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** The identity of this boot of the machine (random(4), /proc/sys/kernel/random/boot_id). */
export function bootIdOfMachine(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

/**
 * Milliseconds since the machine started: goes on while the wall clock is set. In whole seconds where no descriptor is left to
 * read proc_uptime(5) with, when clocks alone are asked; never fails.
 */
export function uptimeMs(): number {
  return uptime() * 1000;
}
