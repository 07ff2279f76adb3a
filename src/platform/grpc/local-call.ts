// The shared part of clients of the broker's own sockets: whether anybody is there, and the meaning of a call's end.
import { connect } from 'node:net';
import { status, type ServiceError } from '@grpc/grpc-js';
import { unreachableBecause } from './admin-failure.js';

/** Longest time a listener may take to accept: it is local. */
const CONNECT_MS = 5_000;

/** Opens a bare connection: its error names the problem, where gRPC only knows that there is one. @throws Unreachable */
export function tryConnect(socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    connection.setTimeout(CONNECT_MS, () => {
      connection.destroy();
      reject(unreachableBecause(socket, 'silent'));
    });
    connection.once('connect', () => {
      connection.destroy();
      resolve();
    });
    connection.once('error', (failure: NodeJS.ErrnoException) => {
      reject(unreachableBecause(socket, failure.code ?? failure.message));
    });
  });
}

/** The connection ended, or the server ended the call by a reset, as one does that is being stopped. */
export function isLost({ code, details }: ServiceError): boolean {
  if (code === status.UNAVAILABLE || code === status.CANCELLED) return true;
  return code === status.INTERNAL && details.startsWith('Received RST_STREAM');
}

/** Whether a call failed, and not the program. */
export function isServiceError(thrown: unknown): thrown is ServiceError {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'number' && 'details' in thrown;
}
