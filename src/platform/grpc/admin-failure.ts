// Why an admin call failed.
import type { status } from '@grpc/grpc-js';

/** The broker answered, and said no. */
export class AdminFailure extends Error {
  override readonly name = 'AdminFailure';
  readonly code: keyof typeof status;
  constructor(code: keyof typeof status, message: string) {
    super(message);
    this.code = code;
  }
}

/** There is no broker at the socket, or none that answers. The sentence names the socket and the remedy. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
  /** It was there, and the connection ended: it may be there again. */
  readonly connectionLost: boolean;
  /** It is there, and its permissions keep this user out. */
  readonly isForbidden: boolean;
  constructor(message: string, connectionLost: boolean, isForbidden = false) {
    super(message);
    this.connectionLost = connectionLost;
    this.isForbidden = isForbidden;
  }
}

/**
 * The error for a socket that cannot be used.
 *
 * @param cause a system error code, or `lost` for a connection that ended, or `silent` for one that brings no answer
 */
export function unreachableBecause(socket: string, cause: string): Unreachable {
  return new Unreachable(
    `the daemon cannot be reached at ${socket}: ${describe(cause)}`,
    cause === 'lost',
    cause === 'EACCES' || cause === 'EPERM',
  );
}

function describe(cause: string): string {
  switch (cause) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such socket; start it with `plugin-broker serve`, or name the right one with --root or --address';
    case 'ECONNREFUSED':
      return 'nobody listens there, so the daemon was stopped or killed; start it with `plugin-broker serve`';
    case 'EACCES':
    case 'EPERM':
      return 'the socket belongs to another user; run this as root or as the user of the daemon';
    case 'EAGAIN':
    case 'silent':
      return 'something listens there but does not answer; look whether the daemon is stopped or overloaded';
    case 'lost':
      return 'the connection ended before the answer, so the daemon is stopping or is not a plugin-broker; try again';
    default:
      return `connecting failed with ${cause}; name the right socket with --root or --address`;
  }
}
