// The lock of a state folder that could not be taken at the start (a read-only disk, no permission): it is asked for
// again at each look, so that a disk that is well again ends the trouble without a restart.
import { asError } from '../../kernel/clock.js';
import type { InstanceLock } from './held-lock.js';
import { acquireInstanceLock, type LockOutcome, type LockPorts } from './instance-lock.js';

/** A lock that is not held yet, or is by now. */
export class LateLock implements InstanceLock {
  readonly #folder: string;
  readonly #ports: LockPorts;
  readonly #tell: (why: string | undefined) => void;
  readonly #released = new AbortController();
  #held: InstanceLock | undefined;
  #trying: Promise<boolean> | undefined;
  /** The disk has not answered the last request yet: one more would hold one more thread of the pool. */
  #isHanging = false;

  /**
   * @param outcome the result at the start
   * @param tell told now and when it changes: why there is no lock, as one sentence; undefined when it is held. Conditions.set
   *   (journal/conditions)
   */
  constructor(folder: string, ports: LockPorts, outcome: LockOutcome, tell: (why: string | undefined) => void) {
    this.#folder = folder;
    this.#ports = ports;
    this.#tell = tell;
    this.#take(outcome);
  }

  /** Takes the lock where it can be had now, without waiting for anybody; from then on as a lock that is held. */
  look(): Promise<boolean> {
    if (this.#held !== undefined) return this.#held.look();
    if (this.#isHanging || this.#released.signal.aborted) return Promise.resolve(false);
    return (this.#trying ??= this.#try().finally(() => (this.#trying = undefined)));
  }

  async release(): Promise<void> {
    this.#released.abort(new Error('the lock is given up'));
    await this.#trying?.catch(() => undefined);
    await this.#held?.release();
  }

  /** @returns false: nobody removed it */
  async #try(): Promise<boolean> {
    const { signal } = this.#released;
    const request = { waitMs: 0, takeover: false };
    const outcome = await acquireInstanceLock(this.#folder, request, this.#ports, signal).catch((failure: unknown) => {
      if (!signal.aborted) throw asError(failure);
    });
    if (outcome !== undefined) this.#take(outcome);
    return false;
  }

  #take(outcome: LockOutcome): void {
    if (outcome.kind === 'held') this.#held = outcome.lock;
    if (outcome.kind === 'unavailable' && outcome.hanging !== undefined) {
      this.#isHanging = true;
      void outcome.hanging.then(() => (this.#isHanging = false));
    }
    if (this.#released.signal.aborted) return;
    const why =
      outcome.kind === 'unavailable' ? outcome.reason : outcome.kind === 'refused' ? outcome.message : undefined;
    this.#tell(why === undefined ? undefined : `${why}; it is served without one; see \`plugin-broker doctor\``);
  }
}
