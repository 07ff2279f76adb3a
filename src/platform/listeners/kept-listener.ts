// A socket of ours that is made again when somebody removed it or put something in its place.
import type { Alarm, Clock } from '../../kernel/clock.js';
import { UnixListener, type ListenerOptions } from '../grpc/unix-listener.js';

/** The ports of the listener. */
export interface KeptListenerPorts {
  readonly clock: Clock;
  /** Milliseconds between two looks (discovery.rescan). */
  readonly everyMs: () => number;
  /** The options of the listener, read before each attempt. @throws Error, told as `degraded`, when they cannot be known now */
  readonly listener: () => ListenerOptions;
  /** The socket cannot be made (one sentence); undefined: it is there. */
  readonly degraded: (why: string | undefined) => void;
}

/** Listens, looks whether the path still leads here, and listens again. A socket that cannot be made never costs the daemon. */
export class KeptListener {
  readonly #ports: KeptListenerPorts;
  #listener: UnixListener | undefined;
  #look: Alarm | undefined;
  #isClosed = false;

  constructor(ports: KeptListenerPorts) {
    this.#ports = ports;
  }

  /** Listens. Never rejects: a failure is reported, and the next look tries again. */
  async open(): Promise<void> {
    const { clock, everyMs, degraded } = this.#ports;
    try {
      await this.#bind();
      if (!this.#isClosed) degraded(undefined);
    } catch (failure) {
      if (!this.#isClosed) degraded((failure as Error).message);
    }
    if (!this.#isClosed) this.#look = clock.alarm(everyMs(), () => void this.#lookAtPath());
  }

  /** Stops listening. The file stays where it is, and connections go on. */
  close(): void {
    this.#isClosed = true;
    this.#look?.cancel();
    this.#listener?.close();
  }

  async #bind(): Promise<void> {
    const fresh = await UnixListener.bind(this.#ports.listener());
    try {
      if (this.#isClosed) {
        fresh.close();
        return;
      }
      if (this.#listener === undefined) fresh.publishFirst();
      else fresh.publish();
    } catch (failure) {
      fresh.close();
      throw failure;
    }
    this.#listener?.close();
    this.#listener = fresh;
  }

  #lookAtPath(): Promise<void> {
    const { clock, everyMs } = this.#ports;
    if (this.#listener?.isInPlace() !== true) return this.open();
    this.#look = clock.alarm(everyMs(), () => void this.#lookAtPath());
    return Promise.resolve();
  }
}
