// The registration socket: where it is, what may stand in its place, and who may remove it.
import { randomBytes } from 'node:crypto';
import { lstatSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { incarnationKey } from '../model/ids.js';
import { asError } from '../kernel/clock.js';
import { incarnationAt, MAX_SOCKET_PATH_BYTES } from '../platform/fs/socket-pin.js';
import { failed } from './exit.js';

/** Group and others get nothing: mode 0700 of the socket, as the original has it. */
const UMASK = 0o077;

/** A listening registration socket. */
export class RegistrationSocket {
  readonly path: string;
  readonly #onConnection: (socket: Socket) => void;
  #server: Server | undefined;
  #key: string | undefined;

  constructor(directory: string, driver: string, onConnection: (socket: Socket) => void) {
    // Concatenated, not joined: paths in logs and probes look as they do with the original.
    this.path = `${directory}/${driver}-reg.sock`;
    this.#onConnection = onConnection;
  }

  /**
   * Removes what an earlier life left at the path.
   *
   * @throws Exit when it is not a socket, or cannot be removed
   */
  clean(): void {
    let status;
    try {
      status = lstatSync(this.path, { throwIfNoEntry: false });
      if (status?.isSocket() === true) unlinkSync(this.path);
    } catch (failure) {
      throw failed(
        'StaleSocket',
        `cannot remove the old registration socket ${this.path}: ${asError(failure).message}`,
      );
    }
    if (status !== undefined && !status.isSocket()) {
      throw failed('StaleSocket', `${this.path} exists and is not a socket; move it away`);
    }
  }

  /**
   * Listens. Bound under a private name and renamed into place: closing a Node listener removes the path it was bound to,
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
    const bound = path.join(path.dirname(this.path), `.${randomBytes(4).toString('hex')}`);
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        // Node binds inside this call, so the mask covers nothing else.
        const before = process.umask(UMASK);
        server.listen(bound, resolve);
        process.umask(before);
      });
      server.on('error', () => undefined); // accepting failed, out of descriptors: the next one may succeed
      renameSync(bound, this.path);
    } catch (failure) {
      server.close();
      rmSync(bound, { force: true });
      throw failed('ListenFailed', `cannot listen on ${this.path}: ${asError(failure).message}`);
    }
    this.#server?.close();
    this.#server = server;
    this.#key = keyAt(this.path);
  }

  /** What is at the path: our socket, nothing, another socket, or something else. */
  look(): 'ours' | 'missing' | 'another' | 'not-a-socket' {
    const key = keyAt(this.path);
    if (key !== undefined) return key === this.#key ? 'ours' : 'another';
    return lstatSync(this.path, { throwIfNoEntry: false }) === undefined ? 'missing' : 'not-a-socket';
  }

  /**
   * Removes the socket file, unless it is not there, or is a successor's.
   *
   * @throws Exit when it cannot be removed
   */
  remove(): void {
    if (this.look() !== 'ours') return;
    try {
      unlinkSync(this.path);
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw failed('RemoveFailed', `cannot remove ${this.path}: ${asError(failure).message}`);
    }
  }

  /** Accepts nothing more. The file stays. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }
}

function keyAt(file: string): string | undefined {
  const incarnation = incarnationAt(file);
  return incarnation === undefined ? undefined : incarnationKey(incarnation);
}
