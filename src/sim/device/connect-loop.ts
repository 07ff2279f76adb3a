// A plugin that does nothing but open connections.
import { createConnection, type Socket } from 'node:net';
import type { SimLog } from '../sim-log.js';

/** Connections that are held at once; older ones are closed then, so that the simulation itself stays within its limits. */
const MOST_HELD = 2_000;

/**
 * Connects until the signal aborts.
 *
 * @param everyMs pause between two connections; 0 opens the next when one was accepted or refused
 * @param hold whether connections are kept open
 */
export async function connectLoop(
  socketPath: string,
  everyMs: number,
  hold: boolean,
  log: SimLog,
  signal: AbortSignal,
): Promise<void> {
  const held = new Set<Socket>();
  while (!signal.aborted) {
    const socket = createConnection(socketPath);
    const failure = await opened(socket);
    if (failure === undefined) log.say('connected', { open: held.size });
    else log.say('connection-refused', { error: failure.message });
    if (hold && failure === undefined) {
      held.add(socket);
      socket.on('close', () => {
        held.delete(socket);
        log.say('connection-closed', { open: held.size });
      });
      if (held.size > MOST_HELD) [...held][0]?.destroy();
    } else socket.destroy();
    await new Promise((resolve) => (everyMs === 0 ? setImmediate(resolve) : setTimeout(resolve, everyMs)));
  }
  for (const socket of held) socket.destroy();
}

function opened(socket: Socket): Promise<Error | undefined> {
  return new Promise((resolve) => {
    socket.on('error', resolve);
    socket.once('connect', () => resolve(undefined));
  });
}
