import { createRequire } from 'node:module';
import { getSystemErrorName } from 'node:util';
import type { Socket } from 'node:net';
import type koffi from 'koffi';
import { descriptorOf } from '../../../src/platform/process/descriptors.js';

const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
/** A cmsghdr and one descriptor, filled up to a multiple of eight. */
const CONTROL_BYTES = 24;
const CMSG_LEN = 20;

const { load, struct, errno } = createRequire(import.meta.url)('koffi') as typeof koffi;
struct('iovec', { base: 'uint8_t *', length: 'size_t' });
struct('msghdr', {
  name: 'void *',
  nameLength: 'uint32_t',
  pieces: 'iovec *',
  pieceCount: 'size_t',
  control: 'uint8_t *',
  controlLength: 'size_t',
  flags: 'int',
});
const sendmsg = load(null).func('intptr_t sendmsg(int, const msghdr *, int)') as (...args: unknown[]) => number;

/**
 * Sends one octet with a descriptor over a connected unix socket.
 *
 * @returns the code of the failure, such as EPERM; undefined: it was sent
 */
export function passDescriptor(socket: Socket, passed: number): string | undefined {
  const control = Buffer.alloc(CONTROL_BYTES);
  control.writeBigUInt64LE(BigInt(CMSG_LEN), 0);
  control.writeInt32LE(SOL_SOCKET, 8);
  control.writeInt32LE(SCM_RIGHTS, 12);
  control.writeInt32LE(passed, 16);
  const message = {
    name: null,
    nameLength: 0,
    pieces: [{ base: Buffer.from('x'), length: 1 }],
    pieceCount: 1,
    control,
    controlLength: control.length,
    flags: 0,
  };
  return sendmsg(descriptorOf(socket), message, 0) < 0 ? getSystemErrorName(-errno()) : undefined;
}
