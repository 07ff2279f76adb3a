// The ledger of leases in the checkpoint: each change is in memory at once, and told to be on the disk when it is.
import type { LeaseRecord, LedgerState, LedgerStore } from '../model/lease.js';
import type { Draft } from './draft.js';
import type { CheckpointStore } from './store.js';

/** Leases on the disk. */
export class LeaseRecords implements LedgerStore {
  readonly #store: Pick<CheckpointStore, 'update' | 'mayWrite' | 'isKept' | 'expect'>;

  constructor(store: Pick<CheckpointStore, 'update' | 'mayWrite' | 'isKept' | 'expect'>) {
    this.#store = store;
  }

  get mayWrite(): boolean {
    return this.#store.mayWrite;
  }

  expect(): void {
    this.#store.expect();
  }

  isKept(): Promise<boolean> {
    return this.#store.isKept();
  }

  put(record: LeaseRecord): Promise<boolean> {
    return this.#isDurable((draft) => draft.putLease(record));
  }

  remove(id: string): Promise<boolean> {
    return this.#isDurable((draft) => draft.removeLease(id));
  }

  setLedger(state: LedgerState): Promise<boolean> {
    return this.#isDurable((draft) => draft.setLedger(state));
  }

  async #isDurable(change: (draft: Draft) => void): Promise<boolean> {
    return (await this.#store.update(change)) === 'durable';
  }
}
