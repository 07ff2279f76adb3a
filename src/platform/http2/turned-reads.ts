import type { Duplex } from 'node:stream';
import type { ReadPace } from '../../model/call-turns.js';
import { HOLD, type Brake } from './brake.js';

/**
 * Hands on what is read of a socket when its turn has come. The socket is not read on before, so that one piece waits at most.
 *
 * @param pace undefined: each piece has its turn at once
 * @param received called with each piece; it is for the receiver to know that the connection has ended meanwhile
 */
export function readInTurns(
  socket: Duplex,
  brake: Brake,
  pace: ReadPace | undefined,
  received: (chunk: Buffer) => void,
): void {
  if (pace === undefined) {
    socket.on('data', received);
    return;
  }
  socket.on('data', (chunk: Buffer) => {
    const takeUp = (): void => {
      brake.letGo(HOLD.NO_TURN);
      received(chunk);
    };
    if (pace.takeUp(chunk.length, takeUp)) received(chunk);
    else brake.hold(HOLD.NO_TURN);
  });
}
