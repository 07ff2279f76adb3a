// The CDI names of leases: given with a lease, after a start, and later to those for which there could be none at first.
import type { Impairments } from './impairments.js';
import { namelessReason, type Entry, type Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';

/** Keeps the CDI name of each lease, or why it has none. */
export class CdiNames {
  readonly #ports: Pick<AllocationPorts, 'cdi' | 'log'>;
  readonly #ledger: Ledger;
  readonly #impairments: Impairments;
  #first = 0;
  #reconciling: Promise<void> = Promise.resolve();

  constructor(ports: Pick<AllocationPorts, 'cdi' | 'log'>, ledger: Ledger, impairments: Impairments) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#impairments = impairments;
  }

  /**
   * Writes the file of a lease.
   *
   * @param isRecorded see CdiFiles.write
   * @returns false when the lease ended meanwhile, too early for the file: it is removed then
   */
  async write(entry: Entry, isRecorded?: Promise<boolean>): Promise<boolean> {
    const before = entry.cdi;
    const cdi = await this.#ports.cdi.write(entry.lease, isRecorded);
    const { lease } = entry;
    // A device node that cannot be looked at now is as it was.
    const isUnseen = namelessReason(before) === 'device-node-missing' && namelessReason(cdi) === 'unseen';
    entry.cdi = isUnseen ? before : cdi;
    if (!this.#ledger.has(entry)) {
      await this.#ports.cdi.remove(lease.id);
      return false;
    }
    if (cdi !== undefined && 'problem' in cdi && before === undefined) {
      this.#ports.log.warn('allocation.no-cdi', `lease ${lease.id} has no CDI name: ${cdi.problem}`, {
        lease: lease.id,
      });
    }
    return true;
  }

  /**
   * Puts the files of all leases right; see CdiFiles.reconcile. One after the other: an operator may want it while a start does it.
   *
   * @param mayRemove whether files without a lease are removed
   */
  reconcile(mayRemove: boolean): Promise<void> {
    this.#reconciling = this.#reconciling.then(() => this.#reconcile(mayRemove));
    return this.#reconciling;
  }

  async #reconcile(mayRemove: boolean): Promise<void> {
    // Those that are being given have no answer yet, and get their file with it.
    const leases = [...this.#ledger.all()].map(({ lease }) => lease).filter(({ state }) => state !== 'asking');
    const lives = (id: string): boolean => this.#ledger.get(id) !== undefined;
    for (const [id, result] of await this.#ports.cdi.reconcile(leases, mayRemove, lives)) {
      const entry = this.#ledger.get(id);
      if (entry !== undefined) entry.cdi = result;
      else await this.#ports.cdi.remove(id); // it ended while its file was made
    }
  }

  /**
   * Writes the files of leases that have none because a device node was not there (after a boot some come late) or could not be
   * looked at, or because the directory refused it, which is tried once then; before that removes those that a lease left behind.
   * Never rejects.
   *
   * @param mayRemove whether files without a lease are removed
   */
  async again(mayRemove: boolean): Promise<void> {
    if (mayRemove && this.#ports.cdi.hasLeftovers) await this.reconcile(mayRemove);
    const nameless = [...this.#ledger.all()].filter(
      ({ lease, cdi }) => lease.state !== 'asking' && namelessReason(cdi) !== undefined,
    );
    // A path that does not answer keeps the looks behind it from being tried: each time another lease is the first.
    this.#first = nameless.length === 0 ? 0 : (this.#first + 1) % nameless.length;
    for (const entry of [...nameless.slice(this.#first), ...nameless.slice(0, this.#first)]) {
      if (!this.#ledger.has(entry) || !(await this.write(entry))) continue;
      this.#impairments.look(entry);
      if (namelessReason(entry.cdi) === 'later') return;
    }
  }
}
