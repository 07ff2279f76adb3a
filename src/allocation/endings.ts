// Ends leases: in memory at once, even if the disk hangs, then on the disk, and their CDI files last.
import type { LeaseReason } from '../model/allocation-reasons.js';
import { resourcesOf, type Entry, type Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';
import type { Telling } from './telling.js';

/** A lease that is over, and why. */
export interface Ended {
  readonly entry: Entry;
  readonly reason: LeaseReason;
}

/** Ends leases. */
export class Endings {
  readonly #ports: Pick<AllocationPorts, 'store' | 'cdi'>;
  readonly #ledger: Ledger;
  readonly #telling: Telling;
  readonly #freed: (resources: ReadonlySet<string>) => void;
  /** CDI files of leases whose end is not on the disk yet. */
  readonly #toRemove = new Set<string>();

  /** @param freed devices of these resources became free */
  constructor(
    ports: Pick<AllocationPorts, 'store' | 'cdi'>,
    ledger: Ledger,
    telling: Telling,
    freed: (resources: ReadonlySet<string>) => void,
  ) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#telling = telling;
    this.#freed = freed;
  }

  /**
   * Takes a lease, or a mark, out of memory: its devices are free, and listeners that show leases are told. Returns whether it
   * was there.
   */
  drop(entry: Entry): boolean {
    if (!this.#ledger.has(entry)) return false;
    this.#ledger.remove(entry.lease.id);
    this.#telling.changed(entry);
    this.#freed(resourcesOf(entry));
    return true;
  }

  /** Ends those of these leases that have not ended. Resolves as {@link forget} does. */
  end(ended: readonly Ended[]): Promise<boolean> {
    return this.forget(ended.filter(({ entry }) => this.drop(entry)));
  }

  /**
   * Reports the end of leases that are no longer in memory, and removes them from the checkpoint: all with one write, since a
   * start after a reboot may end as many as there can be. Resolves when that is on the disk, or cannot be: whether it is.
   */
  async forget(ended: readonly Ended[]): Promise<boolean> {
    const gone = await Promise.all(
      ended.map(async ({ entry, reason }) => {
        const { id, recovers = [] } = entry.lease;
        const isExpired = reason === 'ttl-over';
        this.#telling.tell(entry, {
          type: isExpired ? 'expired' : 'released',
          reason,
          message: isExpired ? 'was not renewed in time' : 'is over',
        });
        // A lease of recovered devices stands for the leases that had them: their files would bring it back at the next start.
        const files = [id, ...recovers];
        if (await this.#ports.store.remove(id)) return files;
        for (const file of files) this.#toRemove.add(file);
        return undefined;
      }),
    );
    await this.#removeFiles(gone.flatMap((files = []) => files));
    return !gone.includes(undefined);
  }

  /** Writes reach the disk again: so does the end of every lease. */
  caughtUp(): void {
    const ids = [...this.#toRemove];
    this.#toRemove.clear();
    void this.#removeFiles(ids);
  }

  /** One after the other: where the directory hangs, each removal that has begun holds a thread. */
  async #removeFiles(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#ports.cdi.remove(id);
  }
}
