// Leases whose devices cannot be used: they stay, and their owners are told.
import { Alarms } from './alarms.js';
import { restMs } from '../kernel/pace.js';
import { ImpairmentLooks, REST, SLICE_MS } from './impairment-looks.js';
import { impairmentOf, listedBy, type Impairment, type Listed } from './judging.js';
import type { Lease } from '../model/lease.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';
import type { Telling } from './telling.js';

const LOST: Impairment = {
  reason: 'answer-lost',
  message: 'the answers of its plugins are lost; the plugins are asked again with its key',
};

/** Looks at devices. */
export class Impairments {
  readonly #ports: AllocationPorts;
  readonly #ledger: Ledger;
  readonly #telling: Telling;
  readonly #isSettled: () => boolean;
  readonly #alarms: Alarms;
  /** By the user whose resources are looked at; undefined: all others'. */
  readonly #looks = new Map<number | undefined, ImpairmentLooks>();
  /** The looks to which an entry was given last. */
  readonly #latest = new WeakMap<Entry, ImpairmentLooks>();
  /** Looks of several users do not go on in the same turn. */
  #turn: Promise<void> = Promise.resolve();
  readonly #nextTurn = (): Promise<void> => (this.#turn = this.#turn.then(() => this.#ports.nextTurn()));
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

  /** Finds the leases concerned, and has those of each user's resources looked at by themselves. */
  async #lookOn(): Promise<void> {
    this.#isLooking = true;
    const { clock } = this.#ports;
    while (this.#next !== undefined) {
      const changed = this.#next;
      this.#next = undefined;
      let since = clock.mono();
      const entries = new Map<number | undefined, Entry[]>();
      const users = new Map<string, number | undefined>();
      for (const entry of this.#ledger.all()) {
        const { granted } = entry.lease;
        if (changed !== 'all' && !granted.some(({ resource }) => changed.has(resource))) continue;
        const user = this.#userOf(granted, users);
        const others = entries.get(user);
        if (others === undefined) entries.set(user, [entry]);
        else others.push(entry);
      }
      let tookMs = 0;
      for (const [user, concerned] of entries) {
        const looks = this.#looksOf(user);
        for (const entry of concerned) this.#latest.set(entry, looks);
        looks.add(concerned);
        if (clock.mono() - since < SLICE_MS) continue;
        tookMs += clock.mono() - since;
        await this.#nextTurn();
        since = clock.mono();
      }
      tookMs += clock.mono() - since;
      if (tookMs >= SLICE_MS) await new Promise<void>((rested) => this.#alarms.set(restMs(tookMs, REST), rested));
    }
    this.#isLooking = false;
  }

  /** The ordinary user whose plugins offer devices of a lease, of several the first; undefined: none. */
  #userOf(granted: Lease['granted'], known: Map<string, number | undefined>): number | undefined {
    const users = granted.flatMap(({ resource }) => {
      if (!known.has(resource)) {
        const stranger = this.#ports.offers.of(resource)?.stranger;
        known.set(resource, stranger === undefined ? undefined : this.#ports.userOf(stranger));
      }
      return known.get(resource) ?? [];
    });
    return users.length === 0 ? undefined : Math.min(...users);
  }

  #looksOf(user: number | undefined): ImpairmentLooks {
    const known = this.#looks.get(user);
    if (known !== undefined) return known;
    const { clock, offers } = this.#ports;
    const looks = new ImpairmentLooks({
      ports: { clock, offers, nextTurn: this.#nextTurn },
      ledger: this.#ledger,
      alarms: this.#alarms,
      judge: (entry, listed, isNews) => {
        // Its plugins are another user's, or nobody's, by now: this look is out of date.
        if (this.#latest.get(entry) !== looks) return;
        // A start with many leases, before any plugin came back.
        const isDue = isNews || entry.lease.state === 'impaired' || entry.lease.answer.isLost === true;
        if (isDue) this.#judge(entry, listed);
      },
      over: () => this.#looks.delete(user),
    });
    this.#looks.set(user, looks);
    return looks;
  }

  /** Looks at the devices of one lease; where a list of them is long and not at hand, when it is. */
  look(entry: Entry): void {
    const resources = entry.lease.granted.map(({ resource }) => resource);
    if (this.#ports.offers.prepare(resources) === undefined) this.#judge(entry, this.#listedFor(entry));
    else this.lookAtAll(new Set(resources));
  }

  #judge(entry: Entry, listed: Listed): void {
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
