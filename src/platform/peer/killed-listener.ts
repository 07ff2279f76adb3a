// A process that was killed while a thread of it was in a call that nothing interrupts, as on a disk that hangs: that thread keeps the
// descriptors of all, so that its sockets take connections and nobody answers, for as long as the call lasts.
import type { Socket } from 'node:net';
import { descriptorOf } from '../process/descriptors.js';
import { procStat } from '../process/proc-stat.js';
import { loadLibc } from './libc.js';

/** Whether the process that listens at the other end of a connection was killed, and never answers. False without koffi. */
export function isKilledListener(connected: Socket): boolean {
  const fd = descriptorOf(connected);
  const listener = fd === undefined ? undefined : loadLibc()?.peerOf(fd);
  // All programs that answer do so in their first thread, or wait for it at their end.
  return listener !== undefined && 'pid' in listener && procStat(listener.pid, listener.uid)?.firstHasEnded === true;
}
