// The talk of two brokers of one root over the lock: the holder names itself, and is asked to stop.
import net from 'node:net';
import type { Clock } from '../../kernel/clock.js';
import { ifPossible } from '../../kernel/if-possible.js';
import { isKilledListener } from '../peer/killed-listener.js';
import { nextTurns } from '../time/next-turn.js';

/** `ask`: the holder's name. `stop`: the same, and please give the lock up. */
export type Question = 'ask' | 'stop';

/** The holder of the lock. */
export interface Holder {
  readonly pid: number;
  /** restoring, ready, degraded or stopping. */
  readonly phase: string;
}

/** The result of a question. */
export type Reply =
  | { readonly kind: 'holder'; readonly holder: Holder; readonly gone: Promise<void>; readonly hangUp: () => void }
  /** Somebody listens but says nothing: stopped, hanging, or overrun. */
  | { readonly kind: 'silent' }
  /** A file is there, but its process is dead; or it was killed, and a thread of it that a disk holds up has its descriptors still. */
  | { readonly kind: 'dead' }
  | { readonly kind: 'nobody' };

/** A process on this machine answers in less than a millisecond, unless it is busy. */
export const ANSWER_MS = 1000;
/** Questions and answers are one short line. */
const MAX_LINE = 256;
const MAX_CALLERS = 16;
/** Longer than anyone waits for the lock: a caller that stays on the line notices our end at once. */
const LINE_MS = 15_000;

/**
 * Asks the listener on a lock. Rejects when the lock cannot be looked at at all (EACCES).
 *
 * @param answerMs milliseconds for its answer
 * @param signal ends the asking, which is `silent` then
 */
export function askHolder(
  path: string,
  question: Question,
  clock: Clock,
  answerMs = ANSWER_MS,
  signal?: AbortSignal,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    const gone = new Promise<void>((ended) => socket.once('close', () => ended()));
    const finish = (reply: Reply): void => {
      alarm.cancel();
      signal?.removeEventListener('abort', silent);
      if (reply.kind !== 'holder') socket.destroy();
      resolve(reply);
    };
    const silent = (): void => finish({ kind: 'silent' });
    const alarm = clock.alarm(answerMs, silent);
    signal?.addEventListener('abort', silent, { once: true });
    let heard = '';
    socket.setEncoding('utf8');
    socket.on('connect', () => {
      if (isKilledListener(socket)) finish({ kind: 'dead' });
      else socket.write(`${question}\n`);
    });
    socket.on('data', (text: string) => {
      heard = (heard + text).slice(0, MAX_LINE);
      const end = heard.indexOf('\n');
      if (end < 0) return;
      const holder = parseHolder(heard.slice(0, end));
      if (holder === undefined) silent();
      else finish({ kind: 'holder', holder, gone, hangUp: () => socket.destroy() });
    });
    socket.on('end', silent);
    socket.on('error', (failure: NodeJS.ErrnoException) => {
      if (failure.code === 'ENOENT') finish({ kind: 'nobody' });
      else if (failure.code === 'ECONNREFUSED') finish({ kind: 'dead' });
      else if (failure.code === 'EACCES' || failure.code === 'EPERM') {
        alarm.cancel();
        reject(failure);
      } else silent();
    });
  });
}

/** The end of a connection is read in the turn of its last octets or the next one. */
const TURNS_TO_SEE_AN_END = 3;

/**
 * Answers questions until it is closed.
 *
 * @param holder names this process: `Stopping.holder` (platform/process/stopping)
 * @param onStop a successor asks us to stop: `Stopping.handOver` (platform/process/stopping)
 */
export function answering(holder: () => Holder, onStop: () => void, clock: Clock): net.Server {
  const server = net.createServer((socket) => {
    const alarm = clock.alarm(LINE_MS, () => socket.destroy());
    let heard = '';
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => alarm.cancel());
    socket.on('data', (text: string) => {
      heard += text;
      const end = heard.indexOf('\n');
      if (end < 0) {
        if (heard.length > MAX_LINE) socket.destroy();
        return;
      }
      const question = heard.slice(0, end);
      heard = '';
      if (question !== 'stop' && question !== 'ask') socket.destroy();
      // A question that waited while this process was stopped may be of a successor that gave up long ago: its end is read next.
      void nextTurns(TURNS_TO_SEE_AN_END).then(() => {
        if (socket.destroyed || socket.readableEnded) return;
        if (question === 'stop') onStop();
        socket.write(`${JSON.stringify(holder())}\n`);
      });
    });
  });
  server.maxConnections = MAX_CALLERS;
  return server;
}

function parseHolder(line: string): Holder | undefined {
  const parsed = ifPossible(() => JSON.parse(line) as { readonly pid?: unknown; readonly phase?: unknown } | null);
  const { pid, phase } = parsed ?? {};
  return typeof pid === 'number' && typeof phase === 'string' ? { pid, phase } : undefined;
}
