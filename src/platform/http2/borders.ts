// Borders before the connections of one socket, which plugins and clients make.
import type { Socket } from 'node:net';
import type { Clock } from '../../kernel/clock.js';
import type { CallTurns, FramePace } from '../../model/call-turns.js';
import type { ConnectionEnd } from '../../model/connection-ends.js';
import type { GuardSettings } from '../../model/settings.js';
import { createBorder, type Border } from './border.js';
import { HALF_REQUEST_BYTES } from './calls.js';

/** Puts a border before each connection that may stay. */
export class Borders {
  readonly #guard: GuardSettings;
  readonly #clock: Clock;

  /** @param guard `guard` of the configuration */
  constructor(guard: GuardSettings, clock: Clock) {
    this.#guard = guard;
    this.#clock = clock;
  }

  /**
   * A border that reads a connection from now on.
   *
   * @param onEnd told when the border ends the connection
   * @param turns in which its calls are taken up; undefined: at once
   * @param frames the pace of its frames that no call earns; undefined: any
   */
  open(
    socket: Socket,
    onEnd: (end: ConnectionEnd) => void,
    turns: CallTurns | undefined,
    frames: FramePace | undefined,
  ): Border {
    const [guard, clock] = [this.#guard, this.#clock];
    return createBorder(socket, { guard, clock, onEnd, turns, frames, halfRequestBytes: HALF_REQUEST_BYTES });
  }
}
