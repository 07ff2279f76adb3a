// A process that attacks in one way, and connects again as soon as it is cut off. It is nice, as the flooder is.
import os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FRAME } from '../../../src/platform/http2/frames.js';
import { ATTACKS } from '../http2/attacks.js';
import { offer, Worker } from './worker.js';

/** The outcome of an attack. */
export interface Attacked {
  /** Connections that were taken, attacked on, and cut off. */
  readonly cutOff: number;
  /** Those of them that were told why, with the code that the attack is to be ended with. */
  readonly told: number;
  /** Connections that were closed before a byte came back. */
  readonly refused: number;
}

/** Answers are left unread for so long: until the deadline of the border has passed. */
const UNREAD_MS = 1500;

let isOn = false;
const attacked = { cutOff: 0, told: 0, refused: 0 };

async function attackAgain(path: string, nth: number): Promise<void> {
  const { code, run } = ATTACKS[nth]!;
  while (isOn) {
    const peer = await run(path);
    const isTaken = peer.frames.length > 0;
    // A peer that does not read does not see the end, either.
    if (peer.socket.isPaused()) await pause(UNREAD_MS);
    peer.socket.resume();
    await peer.closed();
    if (isTaken || peer.frames.length > 0) attacked.cutOff += 1;
    else attacked.refused += 1;
    const last = peer.frames.findLast(({ type }) => type === FRAME.GOAWAY);
    if (last?.payload.toString('latin1', 8).startsWith(`${code}: `) === true) attacked.told += 1;
  }
}

const attacks = {
  /** Begins attack number `nth` of the list on so many connections at once. */
  begin: ({ path, nth, connections }: { path: string; nth: number; connections: number }): void => {
    isOn = true;
    for (let lane = 0; lane < connections; lane++) void attackAgain(path, nth);
  },

  /** Attacks no more. */
  stop: (): Attacked => {
    isOn = false;
    return attacked;
  },
};

/** The calls to an attacker. */
export type AttackerCalls = typeof attacks;

/** Starts one. */
export function startAttacker(): Worker<AttackerCalls> {
  return new Worker<AttackerCalls>(fileURLToPath(import.meta.url));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  os.setPriority(os.constants.priority.PRIORITY_LOW);
  offer(attacks);
}
