// Plugins' connections may not take the last file descriptors: those are for the checkpoint, for sockets that are looked at, and
// for dialling admitted plugins. While only they are left, newcomers are closed at once, which costs the broker nothing.
import type { Clock } from '../kernel/clock.js';
import { Shortage } from './shortage.js';

/** The parts of the reserve. */
export interface ReserveParts<Connection> {
  /** Descriptors (platform/process/descriptors). */
  readonly descriptors: {
    readonly limit: number;
    areScarce(newest?: Connection): boolean;
  };
  readonly clock: Clock;
  /** Told once when only the reserve is left, and once when that is over (undefined): Conditions.set (journal/conditions). */
  readonly degraded: (why: string | undefined) => void;
}

/** Knows whether another connection may be taken. */
export class DescriptorReserve<Connection> {
  readonly #parts: ReserveParts<Connection>;
  readonly #shortage: Shortage;

  constructor(parts: ReserveParts<Connection>) {
    this.#parts = parts;
    const { clock, degraded, descriptors } = parts;
    const over = (): void => degraded(undefined);
    this.#shortage = new Shortage(clock, over, () => !descriptors.areScarce());
  }

  /**
   * Looks, and returns whether there is room beside the reserve.
   *
   * @param newest the connection that was accepted last, if one was just now
   */
  hasRoom(newest?: Connection): boolean {
    const { descriptors } = this.#parts;
    if (!descriptors.areScarce(newest)) return true;
    this.#begin(`file descriptors run out (${String(descriptors.limit)} may be open)`);
    return false;
  }

  /** Accepting a connection failed: with EMFILE where not even libuv's spare descriptor helped, or with ENFILE. */
  readonly acceptFailed = (failure: Error): void => {
    this.#begin(`connections cannot be accepted (${failure.message})`);
  };

  /** Stops looking. */
  close(): void {
    this.#shortage.close();
  }

  #begin(what: string): void {
    if (!this.#shortage.meet()) return;
    this.#parts.degraded(
      `${what}, so plugins cannot connect to kubelet.sock: raise LimitNOFILE (ulimit -n), or see in \`plugin-broker limits\` who holds connections`,
    );
  }
}
