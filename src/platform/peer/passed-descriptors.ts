// Descriptors that a peer passes over a unix socket (SCM_RIGHTS, unix(7)) are taken by nobody here, but the thread that reads such a
// message, or closes its socket, closes them, and may wait for as long as the peer likes: a TCP connection with data that nobody takes
// and a time of SO_LINGER is closed in that time. From Linux 6.16 on (SO_PASSRIGHTS) our sockets refuse them; without koffi
// all is as the kernel does it by itself.
import { Socket, type Server, type SocketConstructorOpts } from 'node:net';
import { descriptorOf } from '../process/descriptors.js';
import { loadLibc } from './libc.js';
import { readInLine } from './out-of-band.js';

/** Of a socket that is made of a descriptor: it is not read before it is connected, which is an option that the types leave out. */
const UNREAD = { readable: true, writable: true, manualStart: true };

/** Nobody who connects to this unix listener can pass descriptors. Before anybody can: its name is to be unknown until then. */
export function takeNoDescriptors(listener: Server): void {
  const fd = descriptorOf(listener);
  if (fd !== undefined) loadLibc()?.takeNoDescriptors(fd);
}

/**
 * Connects to a unix socket, whose listener can pass no descriptors, and octets out of band only in line. As `new Socket(options).connect(path)`.
 *
 * @param options of the socket; `highWaterMark` as of any stream
 */
export function dialUnix(
  path: string,
  options: SocketConstructorOpts & { readonly highWaterMark?: number } = {},
): Socket {
  const fd = loadLibc()?.socketWithoutDescriptors();
  const socket = new Socket(typeof fd === 'number' ? { ...options, ...UNREAD, fd } : options);
  return socket.once('connect', () => readInLine(socket)).connect(path);
}
