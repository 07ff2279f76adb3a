// A process of hostile plugins: they answer the broker's calls with floods, or ask for its pages without end. It is nice, as the
// flooder is.
import { rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { answerHeaders, earlyHints, HostilePlugin, type ServedConnection } from '../http2/hostile-plugin.js';
import { indexed } from '../http2/hpack-writer.js';
import { message } from '../http2/raw-peer.js';
import { RegisterCaller } from '../register-caller.js';
import { offer, Worker } from './worker.js';

/** Of stream 2: GET / */
const PROMISE = Buffer.concat([Buffer.from([0, 0, 0, 2]), indexed(2), indexed(4), indexed(6)]);
/** How the plugins of this process answer. */
export const ANSWER_FLOODS = {
  'a list of 16 MiB in frames of one byte': (connection: ServedConnection, stream: number): Promise<void> => {
    const begun = message(Buffer.alloc(16 * 1024 * 1024)).subarray(0, 5);
    connection.write(answerHeaders(stream), encodeFrame(FRAME.DATA, 0, stream, begun));
    return connection.flood(encodeFrame(FRAME.DATA, 0, stream, Buffer.alloc(1)), 16 * 1024 * 1024);
  },
  'header blocks of status 103 without end': (connection: ServedConnection, stream: number): Promise<void> =>
    connection.flood(earlyHints(stream), Infinity),
  'a flood of WINDOW_UPDATE in answer': (connection: ServedConnection): Promise<void> =>
    connection.flood(encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1])), Infinity),
  'a flood of PUSH_PROMISE in answer': (connection: ServedConnection, stream: number): Promise<void> =>
    connection.flood(encodeFrame(FRAME.PUSH_PROMISE, FLAG.END_HEADERS, stream, PROMISE), Infinity),
} as const;

/** Names of them. */
export type AnswerFlood = keyof typeof ANSWER_FLOODS;

const AGAIN_MS = 250;
const PIPELINED = 50;
let isOn = false;

async function registerAgain(kubeletSocket: string, socket: string): Promise<void> {
  const caller = new RegisterCaller(kubeletSocket, 'example.com/hostile', path.basename(socket));
  while (isOn) {
    await caller.call();
    await pause(AGAIN_MS);
  }
  caller.close();
}

async function askAgain(port: number): Promise<void> {
  while (isOn) {
    const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
    socket.resume();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const ask = (): void => {
      if (!isOn) socket.destroy();
      else if (socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(PIPELINED))) setImmediate(ask);
      else socket.once('drain', ask);
    };
    socket.once('connect', ask);
    await closed;
  }
}

const calls = {
  /** Registers again and again, and answers ListAndWatch with a flood. */
  answer: async ({
    kubeletSocket,
    dir,
    how,
  }: {
    kubeletSocket: string;
    dir: string;
    how: AnswerFlood;
  }): Promise<void> => {
    isOn = true;
    const socket = path.join(dir, 'hostile.sock');
    rmSync(socket, { force: true }); // of the one that was killed before
    await HostilePlugin.start(socket, { ListAndWatch: ANSWER_FLOODS[how] });
    void registerAgain(kubeletSocket, socket);
  },

  /** Asks for /metrics from so many connections at once, without waiting for answers. */
  ask: ({ port, connections }: { port: number; connections: number }): void => {
    isOn = true;
    for (let lane = 0; lane < connections; lane++) void askAgain(port);
  },

  stop: (): void => {
    isOn = false;
  },
};

/** The calls to a hostile process. */
export type HostileCalls = typeof calls;

/** Starts one. */
export function startHostile(): Worker<HostileCalls> {
  return new Worker<HostileCalls>(fileURLToPath(import.meta.url));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  os.setPriority(os.constants.priority.PRIORITY_LOW);
  offer(calls);
}
