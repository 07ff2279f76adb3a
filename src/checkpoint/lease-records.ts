// The ledger of leases in the checkpoint: each change is in memory at once, and told to be on the disk when it is.
import type { LedgerStore } from '../model/lease.js';
import type { Draft } from './draft.js';
import type { CheckpointStore } from './store.js';

/** Leases on the disk. */
export function leaseRecords(store: Pick<CheckpointStore, 'update' | 'mayWrite' | 'isKept' | 'expect'>): LedgerStore {
  const isDurable = async (change: (draft: Draft) => void): Promise<boolean> =>
    (await store.update(change)) === 'durable';
  return {
    get mayWrite() {
      return store.mayWrite;
    },
    expect: () => store.expect(),
    isKept: () => store.isKept(),
    put: (record) => isDurable((draft) => draft.putLease(record)),
    remove: (id) => isDurable((draft) => draft.removeLease(id)),
    setLedger: (state) => isDurable((draft) => draft.setLedger(state)),
  };
}
