// Leases whose devices cannot be used: they stay, and their owners are told.
import { HealthById, impairmentOf, listedBy, type Impairment, type Listed } from './judging.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';
import type { Telling } from './telling.js';

const LOST: Impairment = {
  reason: 'answer-lost',
  message: 'what its plugins answered is lost, and they are asked again with its key',
};

/** Looks at devices and their nodes. */
export class Impairments {
  readonly #ports: AllocationPorts;
  readonly #ledger: Ledger;
  readonly #telling: Telling;
  readonly #health = new HealthById();

  constructor(ports: AllocationPorts, ledger: Ledger, telling: Telling) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#telling = telling;
  }

  /** Looks at the devices of all leases. `isSettled`: plugins of before a restart have come back by now, or have not. */
  lookAtAll(isSettled: boolean): void {
    const listed = this.#listed();
    for (const entry of this.#ledger.all()) this.look(entry, isSettled, listed);
  }

  /** Looks whether the device nodes of a lease are there: after a boot some come late. */
  async lookAtNodes(entry: Entry): Promise<void> {
    for (const { hostPath } of entry.lease.answer.devices) {
      if (await this.#ports.isThere(hostPath)) continue;
      this.#impair(entry, { reason: 'device-node-missing', message: `${hostPath} is not there` });
      return;
    }
    if (entry.lease.reason === 'device-node-missing') this.#impair(entry, undefined);
  }

  /** Looks at the devices of one lease. */
  look(entry: Entry, isSettled: boolean, listed = this.#listed()): void {
    const { state, reason, granted, answer } = entry.lease;
    if (state === 'asking' || reason === 'ledger-recovered') return;
    const found = impairmentOf(granted, listed, isSettled) ?? (answer.isLost === true ? LOST : undefined);
    if (found === undefined && reason === 'device-node-missing') return;
    this.#impair(entry, found);
  }

  #listed(): Listed {
    return listedBy((resource) => this.#ports.offer(resource), this.#health);
  }

  #impair(entry: Entry, found: Impairment | undefined): void {
    const { lease } = entry;
    if (found !== undefined) {
      if (lease.state === 'impaired' && lease.reason === found.reason) return;
      entry.lease = { ...lease, state: 'impaired', reason: found.reason };
      this.#telling.changed();
      this.#telling.tell(entry, { type: 'impaired', ...found });
    } else if (lease.state === 'impaired') {
      const isConfirmed = lease.bootId === this.#ports.bootId;
      entry.lease = {
        ...lease,
        state: isConfirmed ? 'active' : 'unconfirmed',
        reason: isConfirmed ? undefined : 'owner-unseen',
      };
      this.#telling.changed();
      this.#telling.tell(entry, { type: entry.lease.state as 'active', reason: '', message: 'can be used again' });
    }
  }
}
