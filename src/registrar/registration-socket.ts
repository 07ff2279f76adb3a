// The registration socket: its path, the files that it may replace there, and its removal.
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { asError } from '../kernel/clock.js';
import { UNANSWERED } from '../model/ids.js';
import { statusOfName } from '../platform/fs/name-calls.js';
import { inDirectory, withPath } from '../platform/fs/pinned-directory.js';
import { MAX_SOCKET_PATH_BYTES } from '../platform/fs/socket-pin.js';
import { SocketPlace } from '../platform/fs/socket-place.js';
import { takeNoDescriptors } from '../platform/peer/passed-descriptors.js';
import { failed } from './exit.js';

/** Group and others get nothing, as the original has it. */
const MODE = 0o700;

/** A listening registration socket. */
export class RegistrationSocket {
  readonly path: string;
  readonly #onConnection: (socket: Socket) => void;
  #server: Server | undefined;
  #place: SocketPlace | undefined;

  constructor(directory: string, driver: string, onConnection: (socket: Socket) => void) {
    // Concatenated, not joined: paths in logs and probes look as they do with the original.
    this.path = `${directory}/${driver}-reg.sock`;
    this.#onConnection = onConnection;
  }

  /** Removes the socket of an earlier life. @throws Exit when it is not a socket, or cannot be removed */
  clean(): void {
    let isForeign;
    try {
      isForeign = removeSocket(this.path) === 'not-a-socket';
    } catch (failure) {
      throw failed(
        'StaleSocket',
        `cannot remove the old registration socket ${this.path}: ${asError(failure).message}`,
      );
    }
    if (isForeign) throw failed('StaleSocket', `${this.path} exists and is not a socket; move it away`);
  }

  /**
   * Listens. Bound in a private folder and moved into place: closing a Node listener removes the path it was bound to,
   * even if that is the socket of a successor by then.
   *
   * @throws Exit when it cannot
   */
  async listen(): Promise<void> {
    const bytes = Buffer.byteLength(this.path);
    if (bytes > MAX_SOCKET_PATH_BYTES) {
      throw failed(
        'ListenFailed',
        `cannot listen on ${this.path}: it has ${bytes} bytes, a unix socket address holds ${MAX_SOCKET_PATH_BYTES}`,
      );
    }
    const server = createServer(this.#onConnection);
    let place: SocketPlace | undefined;
    try {
      const opened = SocketPlace.open(this.path);
      place = opened;
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(opened.bindPath, resolve);
      });
      takeNoDescriptors(server);
      server.on('error', () => undefined); // accepting failed, out of descriptors: the next one may succeed
      opened.dress({ mode: MODE });
      opened.publish();
    } catch (failure) {
      server.close();
      place?.close();
      throw failed(
        'ListenFailed',
        `cannot listen on ${this.path}: ${withPath(asError(failure).message, path.dirname(this.path))}`,
      );
    }
    this.close();
    this.#server = server;
    this.#place = place;
  }

  /** The file at the path: our socket, nothing, another socket, or something else. */
  look(): 'ours' | 'missing' | 'another' | 'not-a-socket' {
    if (this.#place?.isInPlace() === true) return 'ours';
    try {
      const status = statusOfName(this.path);
      return status === undefined ? 'missing' : status.isSocket() ? 'another' : 'not-a-socket';
    } catch (failure) {
      // Where the directory may not be entered the file is missing; where it does not answer nothing is to be made there.
      return (failure as NodeJS.ErrnoException).code === UNANSWERED ? 'another' : 'missing';
    }
  }

  /**
   * Removes the socket file, unless it is not there, or is a successor's.
   *
   * @throws Exit when it cannot be removed
   */
  remove(): void {
    try {
      this.#place?.remove();
    } catch (failure) {
      throw failed('RemoveFailed', `cannot remove ${this.path}: ${asError(failure).message}`);
    }
  }

  /** Accepts nothing more. The file stays. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
    this.#place?.close();
    this.#place = undefined;
  }
}

/** @throws NodeJS.ErrnoException when the socket cannot be removed */
function removeSocket(file: string): 'removed' | 'missing' | 'not-a-socket' {
  const name = path.basename(file);
  try {
    return inDirectory(path.dirname(file), (directory) => {
      const status = directory.status(name);
      if (status === undefined) return 'missing';
      if (!status.isSocket()) return 'not-a-socket';
      directory.unlink(name);
      return 'removed';
    });
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'; // said when it cannot listen there
    throw failure;
  }
}
