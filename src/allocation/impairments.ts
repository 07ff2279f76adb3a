// Leases whose devices cannot be used: they stay, and their owners are told. A look goes through all devices of all leases
// concerned, and plugins decide how often there is one: it is taken in slices, and in a share of the time.
import { Alarms } from './alarms.js';
import { restMs } from '../kernel/pace.js';
import { impairmentOf, listedBy, type Impairment, type Listed } from './judging.js';
import type { Lease } from '../model/lease.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';
import type { Telling } from './telling.js';

const LOST: Impairment = {
  reason: 'answer-lost',
  message: 'the answers of its plugins are lost; the plugins are asked again with its key',
};

/** A look goes on for so long before everything else has a turn. */
const SLICE_MS = 3;
/** After a look of more than a slice the next one comes so many times later: a fifth of the time. */
const REST = 4;

/** Looks at devices. */
export class Impairments {
  readonly #ports: AllocationPorts;
  readonly #ledger: Ledger;
  readonly #telling: Telling;
  readonly #isSettled: () => boolean;
  readonly #alarms: Alarms;
  /** Resources to look at after the look that is under way; undefined: there is none. */
  #next: Set<string> | 'all' | undefined;
  #isLooking = false;

  /** @param isSettled whether plugins of before a restart have come back by now, or have not */
  constructor(ports: AllocationPorts, ledger: Ledger, telling: Telling, isSettled: () => boolean) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#telling = telling;
    this.#isSettled = isSettled;
    this.#alarms = new Alarms(ports.clock);
  }

  /** Looks at nothing after the look that is under way. */
  stop(): void {
    this.#alarms.stop();
  }

  /**
   * Looks at the devices of leases, at once where their lists are at hand.
   *
   * @param changed resources whose lists or plugins changed; undefined: all are looked at
   */
  lookAtAll(changed: ReadonlySet<string> | undefined): void {
    if (changed === undefined || this.#next === 'all') this.#next = 'all';
    else this.#next = new Set([...(this.#next ?? []), ...changed]);
    if (!this.#isLooking) void this.#lookOn();
  }

  /** One look after the other: a late word about an old list must not come after that about a newer one. */
  async #lookOn(): Promise<void> {
    this.#isLooking = true;
    const { clock, nextTurn } = this.#ports;
    while (this.#next !== undefined) {
      const changed = this.#next;
      this.#next = undefined;
      let since = clock.mono();
      let tookMs = 0;
      const isLong = (): boolean => clock.mono() - since >= SLICE_MS;
      const giveWay = async (until: Promise<unknown>): Promise<void> => {
        tookMs += clock.mono() - since;
        await until;
        since = clock.mono();
      };
      const entries = new Map<Entry, Lease['granted']>();
      const taken = new Map<string, Map<string, Lease>>();
      for (const entry of this.#ledger.all()) {
        const { granted } = entry.lease;
        if (changed !== 'all' && !granted.some(({ resource }) => changed.has(resource))) continue;
        entries.set(entry, granted);
        for (const { resource } of granted) if (!taken.has(resource)) taken.set(resource, new Map());
      }
      this.#ledger.takenOfAll(taken);
      const listed = new Map<string, ReturnType<Listed>>();
      for (const [resource, devices] of taken) {
        if (isLong()) await giveWay(nextTurn());
        const ready = this.#ports.offers.prepare([resource]);
        if (ready !== undefined) await giveWay(ready);
        const offer = this.#ports.offers.of(resource);
        listed.set(
          resource,
          listedBy(offer, () => devices),
        );
      }
      const isNews = [...listed.values()].some((one) => one !== 'away');
      for (const [entry, granted] of entries) {
        // A start with many leases, before any plugin came back.
        if (!isNews && entry.lease.state !== 'impaired' && entry.lease.answer.isLost !== true) continue;
        // A lease that was given or changed meanwhile was looked at then.
        if (!this.#ledger.has(entry) || entry.lease.granted !== granted) continue;
        this.look(entry, (resource) => listed.get(resource) ?? 'away');
        if (isLong()) await giveWay(nextTurn());
      }
      tookMs += clock.mono() - since;
      if (tookMs >= SLICE_MS) await new Promise<void>((rested) => this.#alarms.set(restMs(tookMs, REST), rested));
    }
    this.#isLooking = false;
  }

  /** Looks at the devices of one lease. */
  look(entry: Entry, listed = this.#listedFor(entry)): void {
    const { state, reason, granted, answer } = entry.lease;
    if (state === 'asking' || reason === 'ledger-recovered') return;
    const lost = answer.isLost === true ? LOST : undefined;
    this.#impair(entry, impairmentOf(granted, listed, this.#isSettled()) ?? lost ?? nodeMissing(entry));
  }

  #listedFor({ lease: { granted } }: Entry): Listed {
    return (resource) => {
      const ids = granted.filter((one) => one.resource === resource).flatMap(({ devices }) => devices);
      return listedBy(this.#ports.offers.of(resource), () => new Set(ids.map(({ id }) => id)));
    };
  }

  #impair(entry: Entry, found: Impairment | undefined): void {
    const { lease } = entry;
    if (found !== undefined) {
      if (lease.state === 'impaired' && lease.reason === found.reason) return;
      entry.lease = { ...lease, state: 'impaired', reason: found.reason };
      this.#telling.tell(entry, { type: 'impaired', ...found });
    } else if (lease.state === 'impaired') {
      const isConfirmed = lease.bootId === this.#ports.bootId;
      entry.lease = {
        ...lease,
        state: isConfirmed ? 'active' : 'unconfirmed',
        reason: isConfirmed ? undefined : 'owner-unseen',
      };
      this.#telling.tell(entry, { type: entry.lease.state as 'active', reason: '', message: 'can be used again' });
    }
  }
}

/** The device node for which a lease has no CDI name. */
function nodeMissing({ cdi }: Entry): Impairment | undefined {
  if (cdi === undefined || !('problem' in cdi) || cdi.reason !== 'device-node-missing') return undefined;
  return { reason: 'device-node-missing', message: cdi.problem };
}
