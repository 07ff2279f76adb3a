import type { ReadPace } from '../../model/call-turns.js';
import { PeerFault } from './fault.js';

/**
 * A connection that keeps less is not ended because of others of its user: a registration is no larger, and all connections that
 * a user may have keep no more than its whole share so.
 */
const SPARED_BYTES = 8 * 1024;

/** What one connection keeps of requests that are not complete, as part of what all connections of its user keep. */
export class KeptOctets {
  readonly #pace: Pick<ReadPace, 'keep'> | undefined;
  readonly #count: () => number;
  #told = 0;
  #isOver = false;

  /**
   * @param pace of the user; undefined: it may keep any number
   * @param count the octets that the connection keeps now
   */
  constructor(pace: Pick<ReadPace, 'keep'> | undefined, count: () => number) {
    this.#pace = pace;
    this.#count = count;
  }

  /** Something came. @throws PeerFault CALL_FLOOD when the user keeps too much, and this connection is why */
  look(): void {
    const isTooMuch = this.tell();
    const bytes = this.#told;
    if (!isTooMuch || bytes <= SPARED_BYTES) return;
    const what = `the peer began requests that take ${bytes} bytes and completed none of them, and all of its user take more than they may`;
    throw new PeerFault('CALL_FLOOD', what);
  }

  /** Something that was kept may have been let go. Returns whether the user keeps too much. */
  tell(): boolean {
    const bytes = this.#isOver ? 0 : this.#count();
    const change = bytes - this.#told;
    this.#told = bytes;
    return this.#pace?.keep(change) ?? false;
  }

  /** The connection is over. Idempotent. */
  forget(): void {
    this.#isOver = true;
    this.tell();
  }
}
