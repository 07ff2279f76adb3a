// Octets that a peer sends out of band (MSG_OOB), which unix sockets have, too. Nobody asks for them, and one that is overtaken by the next
// is gone; but each has the kernel say that there is something to read, and the loop turns for nothing, as often as the peer likes. Read in
// line they are octets like others: they count, and break HTTP/2. Without koffi all is as the kernel does it by itself.
import type { Server, Socket } from 'node:net';
import { descriptorOf } from '../process/descriptors.js';
import { loadLibc } from './libc.js';

/** Has octets out of band read in line with all others, of each connection that this unix listener accepts from now on. */
export function acceptInLine(listener: Server): void {
  listener.prependListener('connection', readInLine);
}

/** The same of one connection. */
export function readInLine(socket: Socket): void {
  const fd = descriptorOf(socket);
  if (fd !== undefined) loadLibc()?.readInLine(fd);
}
