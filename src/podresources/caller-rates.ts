// How often a caller is answered: each process as a kubelet would, and the answers of an ordinary user, who may have any number of
// processes, by their bytes.
import type { TurnFigures } from '../kernel/pace.js';
import { Paces } from '../kernel/paces.js';
import { processKey, strangerUser, type Caller, type UserFacts } from '../model/ids.js';
import { KUBELET_RATE } from './ports.js';

/** Bytes of a turn: 16 MiB at once, and 4 MiB a second, as of the lists that plugins of such a user send. */
const TURN_BYTES = 64 * 1024;
const BYTES: TurnFigures = { burst: 256, intervalMs: 15.625, ahead: 256 };

/** The rates of all callers. Pure: the time comes in. */
export class CallerRates {
  readonly #facts: UserFacts;
  readonly #processes = new Paces<string>(KUBELET_RATE);
  readonly #bytes = new Paces<number>(BYTES);

  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /** Whether a caller may be answered now. @param caller undefined where it is not known: all such callers are one */
  take(caller: Caller | undefined, now: number): boolean {
    const user = this.#userOf(caller);
    if (user !== undefined && this.#bytes.waitMs(user, now) > 0) return false;
    return this.#processes.take(caller === undefined ? '' : processKey(caller), now);
  }

  /**
   * Whether a caller may be given an answer of so many bytes, which are counted then: others of its user may have been given theirs
   * while it was made.
   */
  give(caller: Caller | undefined, bytes: number, now: number): boolean {
    const user = this.#userOf(caller);
    if (user === undefined) return true;
    if (this.#bytes.waitMs(user, now) > 0) return false;
    this.#bytes.book(user, now, bytes / TURN_BYTES);
    return true;
  }

  #userOf(caller: Caller | undefined): number | undefined {
    return caller && strangerUser(caller.uid, this.#facts);
  }
}
