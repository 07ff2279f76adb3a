import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type koffi from 'koffi';
import { descriptorOf } from '../../../src/platform/process/descriptors.js';

const MSG_OOB = 1;

/** Sends one octet out of band. @throws where koffi is not installed */
export function sendOutOfBand(socket: Socket): void {
  const libc = (createRequire(import.meta.url)('koffi') as typeof koffi).load(null);
  const send = libc.func('intptr_t send(int, const uint8_t *, size_t, int)') as (...args: unknown[]) => number;
  if (send(descriptorOf(socket), Buffer.from('x'), 1, MSG_OOB) !== 1) throw new Error('it could not be sent');
}
