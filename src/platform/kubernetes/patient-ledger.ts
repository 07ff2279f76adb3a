// The ledger of published drivers on a disk that may not answer, or may be full: it keeps no driver from being published, and what
// could not be written is written later.
import { asError, type Clock } from '../../kernel/clock.js';
import { enterLast } from '../../kernel/enter-last.js';
import type { Log } from '../../kernel/log.js';
import { Patience } from '../../kernel/patience.js';
import type { Ledger } from './ledger.js';

/** Nobody waits longer for the disk, in milliseconds. */
const DISK_MS = 2000;
/** Names that wait for the disk. Of more the oldest stay as they are in the file, which the next start reads. */
const MAX_WAITING = 4096;

/** The ports of the ledger. */
export interface PatientLedgerPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes the ledger as soon as its disk lets it. */
export class PatientLedger {
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #disk: Patience;
  /** Whether each name is published, for those that are not written yet; the oldest first. */
  readonly #waiting = new Map<string, boolean>();
  #isTold = false;

  constructor({ ledger, clock, log }: PatientLedgerPorts) {
    this.#ledger = ledger;
    this.#log = log;
    this.#disk = new Patience(clock, DISK_MS);
  }

  /** The published drivers; undefined where the disk cannot be read now, which is logged. */
  async drivers(): Promise<readonly string[] | undefined> {
    try {
      const drivers = new Set(await this.#disk.soon(() => this.#ledger.drivers()));
      for (const [driver, isPublished] of this.#waiting) {
        if (isPublished) drivers.add(driver);
        else drivers.delete(driver);
      }
      return [...drivers];
    } catch (failure) {
      const why = asError(failure).message;
      this.#log.warn('csi.ledger-not-read', `CSI drivers published before the start are not taken back yet: ${why}`);
      return undefined;
    }
  }

  /**
   * Adds and removes, with what could not be written before.
   *
   * @returns whether everything is written; it is to be called again where it is not
   */
  async change(added: Iterable<string>, removed: Iterable<string>): Promise<boolean> {
    for (const driver of added) enterLast(this.#waiting, driver, true, MAX_WAITING);
    for (const driver of removed) enterLast(this.#waiting, driver, false, MAX_WAITING);
    const names = (isPublished: boolean): string[] =>
      [...this.#waiting].filter(([, is]) => is === isPublished).map(([driver]) => driver);
    try {
      await this.#disk.soon(() => this.#ledger.change(names(true), names(false)));
      this.#waiting.clear();
      this.#isTold = false;
      return true;
    } catch (failure) {
      const why = asError(failure).message;
      if (!this.#isTold)
        this.#log.warn('csi.ledger-not-written', `which CSI drivers are published cannot be written down yet: ${why}`);
      this.#isTold = true;
      return false;
    }
  }
}
