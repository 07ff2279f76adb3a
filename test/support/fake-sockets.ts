import { incarnationKey, type Incarnation } from '../../src/model/ids.js';
import type { PinnedSocket } from '../../src/model/plugin.js';

/** One life of a socket in a FakeSockets. */
export interface FakeSocket {
  readonly path: string;
  readonly incarnation: Incarnation;
  readonly key: string;
  readonly uid: number;
  /** The listener; undefined: nobody listens. */
  listener: { readonly uid: number; readonly pid: number | undefined } | undefined;
}

/** A file system of sockets that counts who holds them, and fails a test that uses a pin that was let go. */
export class FakeSockets {
  readonly #files = new Map<string, FakeSocket>();
  readonly #pins = new Set<FakePin>();
  #inodes = 0;

  /** Puts a socket at a path, in the place of whatever is there. */
  put(path: string, { uid = 0, listens = true }: { uid?: number; listens?: boolean } = {}): FakeSocket {
    this.#inodes += 1;
    const incarnation = { dev: '1', ino: String(this.#inodes), birthNs: String(this.#inodes * 1000) };
    const listener = listens ? { uid, pid: undefined } : undefined;
    const socket: FakeSocket = { path, incarnation, key: incarnationKey(incarnation), uid, listener };
    this.#files.set(path, socket);
    return socket;
  }

  /** Gives a socket a further name, as a link does. */
  link(path: string, socket: FakeSocket): void {
    this.#files.set(path, socket);
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  at(path: string): FakeSocket | undefined {
    return this.#files.get(path);
  }

  paths(): string[] {
    return [...this.#files.keys()];
  }

  readonly keyAt = (path: string): string | undefined => this.#files.get(path)?.key;

  /** Opens what is at a path; undefined when nothing is. */
  readonly open = (path: string): PinnedSocket | undefined => {
    const socket = this.#files.get(path);
    if (socket === undefined) return undefined;
    const pin = new FakePin(path, socket, () => this.#pins.delete(pin));
    this.#pins.add(pin);
    return pin;
  };

  /** Descriptors that are open now. */
  get openPins(): number {
    return this.#pins.size;
  }
}

class FakePin implements PinnedSocket {
  readonly path: string;
  readonly incarnation: Incarnation;
  readonly uid: number;
  readonly #closed: () => void;
  #holds = 1;

  constructor(path: string, socket: FakeSocket, closed: () => void) {
    this.path = path;
    this.incarnation = socket.incarnation;
    this.uid = socket.uid;
    this.#closed = closed;
  }

  get dialPath(): string {
    if (this.#holds === 0) throw new Error(`${this.path} is dialled after its pin was let go`);
    return `/proc/self/fd/${this.incarnation.ino}`;
  }

  retain(): PinnedSocket {
    if (this.#holds === 0) throw new Error(`${this.path} is held again after its pin was let go`);
    this.#holds += 1;
    return this;
  }

  release(): void {
    if (this.#holds === 0) throw new Error(`${this.path} is let go more often than held`);
    this.#holds -= 1;
    if (this.#holds === 0) this.#closed();
  }
}
