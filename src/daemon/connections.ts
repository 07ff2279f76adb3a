// What happens to an accepted connection before anybody reads it: who is it, may it connect, the border before it.
import type { Socket } from 'node:net';
import { ConnectionRun, RefusalRuns } from '../flood/refusal-runs.js';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';
import type { Caller } from '../model/ids.js';
import type { GuardSettings } from '../model/settings.js';
import type { Accept } from '../platform/grpc/grpc-door.js';
import { createBorder, type BorderEnd } from '../platform/http2/border.js';

/** A connection that keeps calling after refusals is read only this often (contract 4), and the next ones of its process. */
const SLOW_READ_MS = 100;

/** Ends that belong to a long life: nothing for an operator at night. */
const NORMAL_ENDS: ReadonlySet<string> = new Set(['IDLE', 'TOO_OLD']);

/** May it connect? `release` gives its place back. */
export type ConnectionVerdict =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** What is needed. */
export interface ConnectionPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  readonly guard: () => GuardSettings;
  readonly peerOf: (socket: Socket) => Caller | undefined;
  /** Whether the process has file descriptors to spare beside this connection's. */
  readonly hasRoom: (connection: Socket) => boolean;
  readonly admit: (caller: Caller | undefined) => ConnectionVerdict;
  /** Counted for metrics: accepted, refused by budget, ended by the border. */
  readonly count: (what: 'accepted' | 'refused' | 'ended') => void;
}

/** Accepts plugin connections on kubelet.sock. */
export function acceptPlugins(ports: ConnectionPorts): Accept {
  const say = (caller: Caller | undefined, code: string, message: string): void => {
    const sentence = `connection of ${whoIs(caller)} ended: ${message}`;
    if (NORMAL_ENDS.has(code)) {
      ports.log.debug('connection.ended', sentence, { code, uid: caller?.uid, pid: caller?.pid });
      return;
    }
    ports.events.record({ type: 'connection', reason: code, message: sentence });
    ports.log.warn('connection.ended', sentence, { code, uid: caller?.uid, pid: caller?.pid });
  };
  const saySlowed = (caller: Caller | undefined): void => {
    const message = `${whoIs(caller)} is cut off again and again: its further connections are read in turns until a call of it is accepted, or it pauses`;
    ports.events.record({ type: 'connection', reason: 'CUT_OFF_AGAIN', message });
    ports.log.warn('connection.slowed', message, { code: 'CUT_OFF_AGAIN', uid: caller?.uid, pid: caller?.pid });
  };
  const refuse = (caller: Caller | undefined, code: string, message: string, socket: Socket): void => {
    ports.count('refused');
    say(caller, code, message);
    socket.destroy();
  };
  const runs = new RefusalRuns(() => ports.clock.mono());
  return (socket) => {
    if (!ports.hasRoom(socket)) {
      ports.count('refused'); // told once by whoever looks after descriptors: it says nothing about this peer
      socket.destroy();
      return undefined;
    }
    const caller = ports.peerOf(socket);
    const verdict = ports.admit(caller);
    if (!verdict.ok) {
      refuse(caller, verdict.code, verdict.message, socket);
      return undefined;
    }
    const firstReadInMs = runs.firstReadInMs(caller);
    if (firstReadInMs === undefined) {
      verdict.release();
      refuse(caller, 'CUT_OFF_AGAIN', 'connections of it are cut off again and again, and enough of them wait', socket);
      return undefined;
    }
    ports.count('accepted');
    socket.once('close', verdict.release);
    const border = createBorder(socket, {
      guard: ports.guard(),
      clock: ports.clock,
      onEnd: (end: BorderEnd) => {
        ports.count('ended');
        say(caller, end.code, end.message);
        if (!NORMAL_ENDS.has(end.code) && runs.cutOff(caller)) saySlowed(caller);
      },
    });
    const slowDown = (): void => border.throttle(SLOW_READ_MS);
    border.readLater(firstReadInMs);
    if (runs.isRefused(caller)) border.throttleAfterOneCall(SLOW_READ_MS);
    const run = new ConnectionRun();
    const answered = (isAccepted: boolean): void => {
      if (isAccepted) {
        runs.accepted(caller);
        run.accepted();
        return;
      }
      runs.refused(caller);
      if (run.refused()) slowDown();
    };
    return { caller, stream: border, slowDown, answered };
  };
}

function whoIs(caller: Caller | undefined): string {
  return caller === undefined ? 'an unknown process' : `pid ${String(caller.pid ?? '?')} (uid ${String(caller.uid)})`;
}

/** Accepts operators on broker.sock: file permissions are its guard. */
export const acceptOperators: Accept = (socket) => ({
  caller: undefined,
  stream: socket,
  slowDown: () => undefined,
  answered: () => undefined,
});
