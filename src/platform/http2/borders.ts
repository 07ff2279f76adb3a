// Borders before the connections of one socket, which plugins and clients make.
import type { Socket } from 'node:net';
import type { Clock } from '../../kernel/clock.js';
import type { CallTurns, ReadPace } from '../../model/call-turns.js';
import type { ConnectionEnd } from '../../model/connection-ends.js';
import type { GuardSettings } from '../../model/settings.js';
import { Border } from './border.js';
import { HALF_REQUEST_BYTES } from './calls.js';

/**
 * Puts a border before a connection, which it reads from then on. `onEnd` is told when it ends the connection; its calls are taken
 * up in `turns` (undefined: at once), and it is read at the pace of `reads` (undefined: as it comes).
 */
export type OpenBorder = (
  socket: Socket,
  onEnd: (end: ConnectionEnd) => void,
  turns: CallTurns | undefined,
  reads: ReadPace | undefined,
) => Border;

/** The borders of a socket. @param guard `guard` of the configuration */
export function openBorders(guard: GuardSettings, clock: Clock): OpenBorder {
  return (socket, onEnd, turns, reads) =>
    new Border(socket, { guard, clock, onEnd, turns, reads, halfRequestBytes: HALF_REQUEST_BYTES });
}
