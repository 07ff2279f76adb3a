import { readFileSync } from 'node:fs';

/** The identity of this boot of the machine (random(4), /proc/sys/kernel/random/boot_id). */
export function bootIdOfMachine(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

/** Milliseconds since the machine started (proc_uptime(5)): goes on while the wall clock is set. */
export function uptimeMs(): number {
  return Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) * 1000;
}
