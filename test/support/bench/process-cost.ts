import { readdirSync, readFileSync } from 'node:fs';

const MIB = 1024 * 1024;

/** Resident memory of a process in MiB (proc(5), VmRSS). */
export function residentMiB(pid: number): number {
  const [, kib = 'NaN'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(pid)}/status`, 'latin1')) ?? [];
  return (Number(kib) * 1024) / MIB;
}

/** CPU time that the threads of a process have had so far, in milliseconds (proc(5), schedstat: nanoseconds). */
export function cpuMs(pid: number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${String(pid)}/task`)) {
    try {
      const [ns = '0'] = readFileSync(`/proc/${String(pid)}/task/${thread}/schedstat`, 'latin1').split(' ');
      total += Number(ns) / 1e6;
    } catch {
      // A thread that has just ended.
    }
  }
  return total;
}

/** Open descriptors of a process. */
export function descriptors(pid: number): number {
  return readdirSync(`/proc/${String(pid)}/fd`).length;
}
