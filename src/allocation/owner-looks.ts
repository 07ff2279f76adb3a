// Looks at an owner soon after its connection ended, beside the regular looks at all owners. Clients decide how often that
// happens, and a look reads files: all leases of an owner are looked at together, an owner not more often than the end of a
// process takes, and the owners of one ordinary user in a share of the time. Connections that end together, such as all of a process
// that is killed, cause one walk through the leases.
import type { LeaseOwner } from '../model/lease.js';
import { Alarms } from './alarms.js';
import { DecisionTime } from './decision-time.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationPorts } from './ports.js';
import { hasEnded } from './recovery.js';

/** A process that is killed closes its sockets a moment before it has ended: looked at after so long, each time. */
const LOOK_AGAIN_MS = [0, 20, 100, 500] as const;
/** An owner is not looked at again sooner. */
const APART_MS = 20;
/** The owners of a user whose time is spent are looked at so much later. */
const PUT_OFF_MS = 500;

type Needs = Pick<AllocationPorts, 'clock' | 'ownUid' | 'userOf' | 'owners'>;

/** An owner that is to be looked at, with its leases. */
interface Due {
  readonly name: string;
  readonly uid: number;
  readonly entries: Set<Entry>;
  /** When the last sign of it ended, and when it is looked at, on the monotonic scale. */
  endedAt: number;
  at: number;
}

/** Owners that are to be looked at: one look is due for each, at most. */
export class OwnerLooks {
  readonly #ports: Needs;
  readonly #ledger: Ledger;
  readonly #endIfOver: (entry: Entry) => void;
  readonly #alarms: Alarms;
  readonly #time: DecisionTime;
  readonly #due = new Map<string, Due>();
  /** The processes, and their users, whose connections ended since the leases were gone through last. */
  #ended: { readonly pids: Set<number>; readonly uids: Set<number> } | undefined;
  /** Of each owner that was named: the path of a control group may have 4 KB, and is in each of its names. */
  readonly #names = new WeakMap<LeaseOwner, string>();

  /** @param endIfOver ends a lease if its owner has ended */
  constructor(ports: Needs, ledger: Ledger, endIfOver: (entry: Entry) => void) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#endIfOver = endIfOver;
    this.#alarms = new Alarms(ports.clock);
    this.#time = new DecisionTime(ports);
  }

  /** A connection ended, and with it perhaps its process, or the control group of the same user whose last process that was. */
  connectionEnded({ uid, pid }: { readonly uid: number; readonly pid: number }): void {
    if (this.#ended === undefined) {
      this.#ended = { pids: new Set(), uids: new Set() };
      this.#alarms.set(0, () => this.#lookForEnded());
    }
    this.#ended.pids.add(pid);
    this.#ended.uids.add(uid);
  }

  #lookForEnded(): void {
    const { pids, uids } = this.#ended ?? {};
    this.#ended = undefined;
    for (const entry of this.#ledger.all()) {
      const { owner, uid } = entry.lease;
      const isOfProcess = owner.process !== undefined && pids?.has(owner.process.pid) === true;
      if (isOfProcess || (owner.cgroup !== undefined && uids?.has(uid) === true)) this.soon(entry);
    }
  }

  /** Looks at the owner of a lease now and a little later; where that is due already it is only moved. */
  soon(entry: Entry): void {
    const { uid } = entry.lease;
    const name = this.#nameOf(entry);
    if (name === undefined) return;
    const now = this.#ports.clock.mono();
    const due = this.#due.get(name);
    if (due === undefined) {
      const first: Due = { name, uid, entries: new Set([entry]), endedAt: now, at: now };
      this.#due.set(name, first);
      this.#await(first, now);
      return;
    }
    due.entries.add(entry);
    due.endedAt = now;
    if (due.at > now + APART_MS && this.#time.waitMs(uid) === 0) this.#await(due, now + APART_MS);
  }

  /** Looks at nobody any more. */
  stop(): void {
    this.#alarms.stop();
    this.#due.clear();
  }

  #await(due: Due, at: number): void {
    due.at = at;
    this.#alarms.set(at - this.#ports.clock.mono(), () => this.#look(due), due);
  }

  #look(due: Due): void {
    const { name, uid, entries, endedAt } = due;
    const now = this.#ports.clock.mono();
    if (this.#time.waitMs(uid) > 0) {
      this.#await(due, now + PUT_OFF_MS);
      return;
    }
    const isOver = this.#time.spend(uid, () => this.#endIfEnded(entries));
    const again = LOOK_AGAIN_MS.find((ms) => endedAt + ms > now);
    if (isOver || again === undefined) this.#due.delete(name);
    else this.#await(due, Math.max(endedAt + again, now + APART_MS));
  }

  /** One look for all of them. Whether none is left. */
  #endIfEnded(entries: ReadonlySet<Entry>): boolean {
    const left = [...entries].filter((entry) => this.#ledger.has(entry));
    const [first] = left;
    if (first === undefined || !hasEnded(first.lease, this.#ports.owners)) return first === undefined;
    for (const entry of left) this.#endIfOver(entry);
    return !left.some((entry) => this.#ledger.has(entry));
  }

  /** One string for an owner that can end, and the user of its leases. */
  #nameOf({ lease: { uid, owner } }: Entry): string | undefined {
    const { process, cgroup } = owner;
    if (process !== undefined) return `${String(uid)} process ${String(process.pid)} ${process.startTime}`;
    if (cgroup === undefined) return undefined;
    const name = this.#names.get(owner) ?? `${String(uid)} cgroup ${cgroup.inode} ${cgroup.path}`;
    this.#names.set(owner, name);
    return name;
  }
}
