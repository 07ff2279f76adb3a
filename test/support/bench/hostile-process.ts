// A process of hostile plugins: they answer the broker's calls with floods, or ask for its pages without end. It becomes an
// ordinary user, so that the shares of one are measured, and it is nice, as the flooder is.
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ConnectionEndCode } from '../../../src/model/connection-ends.js';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { answerHeaders, earlyHints, HostilePlugin, type ServedConnection } from '../http2/hostile-plugin.js';
import { indexed } from '../http2/hpack-writer.js';
import { message } from '../http2/raw-peer.js';
import { RegisterClient } from './register-client.js';
import { offer, Worker } from './worker.js';

/** A flood as the answer to ListAndWatch, and the code with which the broker ends its connection. */
interface Flood {
  readonly code: ConnectionEndCode;
  readonly run: (connection: ServedConnection, stream: number) => Promise<void>;
}

/** Of stream 2: GET / */
const PROMISE = Buffer.concat([Buffer.from([0, 0, 0, 2]), indexed(2), indexed(4), indexed(6)]);
/** How the plugins of this process answer. */
export const ANSWER_FLOODS = {
  'a list of 16 MiB in frames of one byte': {
    code: 'FRAME_FLOOD',
    run: (connection, stream) => {
      const begun = message(Buffer.alloc(16 * 1024 * 1024)).subarray(0, 5);
      connection.write(answerHeaders(stream), encodeFrame(FRAME.DATA, 0, stream, begun));
      return connection.flood(encodeFrame(FRAME.DATA, 0, stream, Buffer.alloc(1)), 16 * 1024 * 1024);
    },
  },
  'header blocks of status 103 without end': {
    code: 'HEADERS_FLOOD',
    run: (connection, stream) => connection.flood(earlyHints(stream), Infinity),
  },
  'a flood of WINDOW_UPDATE in answer': {
    code: 'WINDOW_GAME',
    run: (connection) => connection.flood(encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1])), Infinity),
  },
  'a flood of PUSH_PROMISE in answer': {
    code: 'PROTOCOL',
    run: (connection, stream) =>
      connection.flood(encodeFrame(FRAME.PUSH_PROMISE, FLAG.END_HEADERS, stream, PROMISE), Infinity),
  },
} as const satisfies Readonly<Record<string, Flood>>;

/** Names of them. */
export type AnswerFlood = keyof typeof ANSWER_FLOODS;

/** The outcome of an attack. */
export interface Outcome {
  /** Floods that the broker cut off, or answers that were read. */
  readonly done: number;
  /** Registrations that were refused, or answers with an error. */
  readonly refused: number;
}

const AGAIN_MS = 250;
const PIPELINED = 50;
const STATUS_LINE = /HTTP\/1\.1 (\d)/g;
let isOn = false;
const outcome = { done: 0, refused: 0 };

/** Each time a new plugin at a new socket: one name would be counted out after some registrations, and quarantined. */
async function registerAgain(kubeletSocket: string, dir: string, how: AnswerFlood): Promise<void> {
  const { run }: Flood = ANSWER_FLOODS[how];
  const attack = async (connection: ServedConnection, stream: number): Promise<void> => {
    await run(connection, stream);
    if (connection.isClosed) outcome.done += 1;
  };
  const client = new RegisterClient(kubeletSocket);
  for (let nth = 0; isOn; nth++) {
    const name = `hostile-${String(process.pid)}-${String(nth)}`;
    await HostilePlugin.start(path.join(dir, `${name}.sock`), { ListAndWatch: attack });
    const { code } = await client.register(`example.com/${name}`, `${path.basename(dir)}/${name}.sock`);
    if (code !== 0) outcome.refused += 1;
    await pause(AGAIN_MS);
  }
  client.close();
}

async function askAgain(port: number): Promise<void> {
  while (isOn) {
    const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
    // A status line that is cut in two is not counted: that is one of thousands.
    socket.setEncoding('latin1').on('data', (text: string) => {
      for (const [, kind] of text.matchAll(STATUS_LINE)) outcome[kind === '2' ? 'done' : 'refused'] += 1;
    });
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
  /** Becomes that user, for good. Its code is loaded by then: that user may not be allowed to read it. */
  become: (uid: number): void => {
    process.setgroups?.([]);
    process.setgid?.(uid);
    process.setuid?.(uid);
  },

  /**
   * Registers again and again, and answers ListAndWatch with a flood.
   *
   * @param dir where its sockets are, right below the directory of kubelet.sock
   */
  answer: ({ kubeletSocket, dir, how }: { kubeletSocket: string; dir: string; how: AnswerFlood }): void => {
    isOn = true;
    void registerAgain(kubeletSocket, dir, how);
  },

  /** Asks for /metrics from so many connections at once, without waiting for answers. */
  ask: ({ port, connections }: { port: number; connections: number }): void => {
    isOn = true;
    for (let lane = 0; lane < connections; lane++) void askAgain(port);
  },

  /** Attacks no more. */
  stop: (): Outcome => {
    isOn = false;
    return outcome;
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
