// A registration socket with several names: when the name by which an instance is known goes, the instance takes one that remains.
import type { Incarnation } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import type { PinnedSocket } from '../model/plugin.js';

/** Gives an instance another name of its registration socket, and of its endpoint where that is the same one by the same name. */
export function takeName(instance: Instance, path: string): void {
  const { socketPath: before, enrolment } = instance;
  const isOwnEndpoint = instance.endpointKey === instance.socketKey && instance.endpointPath === before;
  instance.socketPath = path;
  if (isOwnEndpoint) instance.endpointPath = path;
  if (instance.endpointAsSent === before) instance.endpointAsSent = path;
  if (enrolment === undefined) return;
  const endpoint = isOwnEndpoint ? new Renamed(enrolment.endpoint, path) : enrolment.endpoint;
  instance.enrolment = { ...enrolment, socket: new Renamed(enrolment.socket, path), endpoint };
}

/** The same hold by another name. Holders who have it by its former name keep it for as long as before. */
class Renamed implements PinnedSocket {
  readonly path: string;
  /** As it was opened: of a socket that goes by ever new names nothing but the newest one is kept. */
  readonly #opened: PinnedSocket;

  constructor(socket: PinnedSocket, path: string) {
    this.#opened = socket instanceof Renamed ? socket.#opened : socket;
    this.path = path;
  }

  get incarnation(): Incarnation {
    return this.#opened.incarnation;
  }

  get uid(): number {
    return this.#opened.uid;
  }

  get dialPath(): string {
    return this.#opened.dialPath;
  }

  release(): void {
    this.#opened.release();
  }

  retain(): PinnedSocket {
    return new Renamed(this.#opened.retain(), this.path);
  }
}
