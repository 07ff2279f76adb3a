// The looks at the devices of leases, of the resources of one ordinary user, or of all others. A look goes through all devices of all
// leases concerned, and plugins decide how often there is one, and how long their lists are: each user's is taken in slices, in a
// share of the time, and nobody's waits for another's.
import { restMs } from '../kernel/pace.js';
import type { Lease } from '../model/lease.js';
import type { Alarms } from './alarms.js';
import { listedBy, type Listed } from './judging.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';

/** A look goes on for so long before everything else has a turn. */
export const SLICE_MS = 3;
/** After a look of more than a slice the next one comes so many times later: a fifth of the time. */
export const REST = 4;

/** The parts of the looks. */
export interface LookParts {
  readonly ports: Pick<AllocationPorts, 'clock' | 'nextTurn' | 'offers'>;
  readonly ledger: Ledger;
  readonly alarms: Alarms;
  /** Told of the devices of an entry. `isNews`: not all plugins are away. */
  readonly judge: (entry: Entry, listed: Listed, isNews: boolean) => void;
  /** Nothing is left to be looked at. */
  readonly over: () => void;
}

/** One look after the other: a late word about an old list must not come after that about a newer one. */
export class ImpairmentLooks {
  readonly #parts: LookParts;
  /** To be looked at after the look that is under way, with the devices that they had then. */
  #next = new Map<Entry, Lease['granted']>();
  #isLooking = false;

  constructor(parts: LookParts) {
    this.#parts = parts;
  }

  /** Looks at the devices of these, at once where their lists are at hand and nothing else is being looked at. */
  add(entries: Iterable<Entry>): void {
    for (const entry of entries) this.#next.set(entry, entry.lease.granted);
    if (!this.#isLooking) void this.#lookOn();
  }

  async #lookOn(): Promise<void> {
    this.#isLooking = true;
    const { ports, ledger, alarms, judge, over } = this.#parts;
    const { clock, nextTurn, offers } = ports;
    while (this.#next.size > 0) {
      const entries = this.#next;
      this.#next = new Map();
      let since = clock.mono();
      let tookMs = 0;
      const isLong = (): boolean => clock.mono() - since >= SLICE_MS;
      const giveWay = async (until: Promise<unknown>): Promise<void> => {
        tookMs += clock.mono() - since;
        await until;
        since = clock.mono();
      };
      const resources = [...entries.values()].flatMap((granted) => granted.map(({ resource }) => resource));
      const listed = new Map<string, ReturnType<Listed>>();
      for (const resource of new Set(resources)) {
        if (isLong()) await giveWay(nextTurn());
        const ready = offers.prepare([resource]);
        if (ready !== undefined) await giveWay(ready);
        const offer = offers.of(resource);
        listed.set(
          resource,
          listedBy(offer, () => ledger.takenOf(resource)),
        );
      }
      const isNews = [...listed.values()].some((one) => one !== 'away');
      for (const [entry, granted] of entries) {
        // A lease that was given or changed meanwhile was looked at then.
        if (!ledger.has(entry) || entry.lease.granted !== granted) continue;
        judge(entry, (resource) => listed.get(resource) ?? 'away', isNews);
        if (isLong()) await giveWay(nextTurn());
      }
      tookMs += clock.mono() - since;
      if (tookMs >= SLICE_MS) await new Promise<void>((rested) => alarms.set(restMs(tookMs, REST), rested));
    }
    this.#isLooking = false;
    over();
  }
}
