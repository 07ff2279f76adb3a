// The ledger as operators see it.
import type { LedgerView } from '../model/views.js';
import type { Allocations } from './allocations.js';

/** The ledger as `status` shows it. */
export function ledgerView(allocations: Pick<Allocations, 'keeper' | 'waiting' | 'leases'>): LedgerView {
  const { keeper, waiting } = allocations;
  return { state: keeper.state, leases: allocations.leases().length, waiting };
}
