// The life of leases: they are recorded, confirmed, impaired, and end with their owner, their time or a release.
import type { AllocationRefusal, LeaseReason } from '../model/allocation-reasons.js';
import type { LeaseRecord, LedgerState } from '../model/lease.js';
import { Alarms } from './alarms.js';
import { CdiNames } from './cdi-names.js';
import { Endings, type Ended } from './endings.js';
import type { LeaseIds } from './ids.js';
import { Followers, type Tell } from './followers.js';
import { Impairments } from './impairments.js';
import { recordOf, resourcesOf, type Entry, type Ledger } from './ledger.js';
import { OwnerLooks } from './owner-looks.js';
import type { AllocationPorts } from './ports.js';
import { hasEnded, lossEvent, recoveredLeases, revived } from './recovery.js';
import { shutBy } from './shut.js';
import { Telling } from './telling.js';

/** Owners looked at in one turn of the event loop. */
const LOOKS_A_TURN = 64;

/** Keeps leases. */
export class Keeper {
  readonly #ports: AllocationPorts;
  readonly #ledger: Ledger;
  readonly #ids: LeaseIds;
  /** The followers of single leases. */
  readonly followers: Followers;
  /** The listeners of all leases. */
  readonly telling: Telling;
  readonly #impairments: Impairments;
  readonly #cdiNames: CdiNames;
  readonly #alarms: Alarms;
  /** Looks at owners whose connections ended. */
  readonly looks: OwnerLooks;
  /** Ends leases, and takes marks away. */
  readonly endings: Endings;
  #state: LedgerState | 'unread' = 'unread';
  #isSettled = false;
  #isStopping = false;
  #isLooking = false;

  constructor(ports: AllocationPorts, ledger: Ledger, ids: LeaseIds, freed: (resources: ReadonlySet<string>) => void) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#ids = ids;
    this.#alarms = new Alarms(ports.clock);
    this.looks = new OwnerLooks(ports, ledger, (entry) => this.#endIfOver(entry));
    this.followers = new Followers(ports);
    this.telling = new Telling(ports.events, this.followers);
    this.endings = new Endings(ports, ledger, this.telling, freed);
    this.#impairments = new Impairments(ports, ledger, this.telling, () => this.#isSettled);
    this.#cdiNames = new CdiNames(ports, ledger, this.#impairments);
  }

  /** The state of the ledger: how complete the leases of earlier lives are. */
  get state(): LedgerState | 'unread' {
    return this.#state;
  }

  /** Why nothing is given out now, if that is so. */
  shut(): AllocationRefusal | undefined {
    return shutBy(this.#state, this.#isStopping, this.#ports.store.mayWrite);
  }

  /**
   * Goes on with the leases of the checkpoint: owners that ended meanwhile have no lease any more. Their CDI files are not looked
   * at: see {@link placeFiles}.
   */
  async restore(records: readonly LeaseRecord[], state: LedgerState | 'unread'): Promise<void> {
    const { cdi, events } = this.#ports;
    this.#state = state;
    const over: Ended[] = [];
    for (const record of records) {
      this.#ids.seen(record.id);
      const life = revived(record, this.#ports);
      if (life.kind === 'lives') this.#ledger.add(life.entry);
      else over.push(life);
    }
    await this.endings.forget(over);
    if (state === 'stale') {
      for (const entry of recoveredLeases(await cdi.claims(), this.#ledger, this.#ids, this.#ports)) {
        this.#ledger.add(entry);
        void this.#ports.store.put(recordOf(entry));
        this.telling.tell(entry, {
          type: 'unconfirmed',
          reason: 'ledger-recovered',
          message: 'a CDI file of this boot names its devices',
        });
      }
    }
    const lost = lossEvent(state);
    if (lost !== undefined) events.record(lost);
    for (const entry of this.#ledger.all()) this.#await(entry);
    this.telling.changed();
    this.#alarms.set(this.#ports.settings.checkMs, () => this.#check());
  }

  /** Puts the CDI files of leases in their place after {@link restore}: before the broker is ready, and before anything is given out. */
  async placeFiles(): Promise<void> {
    if (this.#ledger.size > 0) await this.#cdiNames.reconcile(this.#state === 'ok');
  }

  /**
   * Removes the CDI files that earlier leases left behind, where {@link placeFiles} found no lease: the directory is not ours
   * alone, and looking through it can wait until the broker is ready. Before anything is given out.
   */
  async removeLeftovers(): Promise<void> {
    if (this.#ledger.size === 0) await this.#cdiNames.reconcile(this.#state === 'ok');
  }

  /** Plugins of before the restart have come back by now, or have not. */
  settled(): void {
    this.#isSettled = true;
    this.lookAtDevices();
  }

  /**
   * Makes a marked lease a real one: on the disk first, then in the views, then its CDI file gets its name.
   *
   * @returns the refusal; then it is as if it had never been
   */
  async record(entry: Entry): Promise<AllocationRefusal | undefined> {
    const { store } = this.#ports;
    this.#begin(entry);
    const { id } = entry.lease;
    const isRecorded = store.put(recordOf(entry));
    const file = this.#cdiNames.write(entry, isRecorded);
    if (!(await isRecorded)) {
      // A write that hangs may still bring it to the disk: the next one takes it away again.
      void store.remove(id);
      const message =
        'the allocation could not be written to the disk in time, so it was not made; see `plugin-broker status`';
      return { code: 'LEDGER_NOT_WRITABLE', message };
    }
    entry.lease = { ...entry.lease, state: 'active' };
    this.telling.changed(entry);
    if (!(await file)) return { code: 'LEASE_UNKNOWN', message: `lease ${id} ended before its owner was told of it` };
    this.telling.tell(entry, { type: 'active', reason: '', message: 'is given' }, 'allocated');
    this.#await(entry);
    this.#impairments.look(entry);
    return undefined;
  }

  /**
   * The owner was seen: its time to live begins anew, and nothing is in doubt any more.
   *
   * @param isAnswered its plugins were asked once more, because their answers were lost
   * @returns `ended`: the lease ended meanwhile, and nothing was written; `not-written`: a restart of the broker would undo it
   */
  async confirm(entry: Entry, isAnswered = false): Promise<'confirmed' | 'ended' | 'not-written'> {
    if (!this.#ledger.has(entry)) return 'ended';
    const { bootId, store } = this.#ports;
    const { lease } = entry;
    const isNews = isAnswered || lease.bootId !== bootId || lease.ttlMs !== undefined;
    if (lease.bootId !== bootId) entry.lease = { ...lease, bootId };
    if (lease.state === 'unconfirmed') {
      entry.lease = { ...entry.lease, state: 'active', reason: undefined };
      this.telling.changed(entry);
      this.telling.tell(entry, { type: 'active', reason: '', message: 'was confirmed by its owner' });
      this.lookAtDevices(resourcesOf(entry));
    }
    if (lease.ttlMs !== undefined) this.#begin(entry);
    if (isNews) this.#await(entry);
    // Before an answer is given again its record is on the disk again, should somebody have removed it.
    const isRecorded = isNews ? store.put(recordOf(entry)) : store.isKept();
    if (isAnswered && !(await this.#cdiNames.write(entry, isRecorded))) return 'ended';
    const isWritten = await isRecorded;
    if (isAnswered) this.lookAtDevices();
    if (!this.#ledger.has(entry)) return 'ended';
    return isWritten ? 'confirmed' : 'not-written';
  }

  /** Ends a lease: its devices are free at once, in memory. Resolves when the end is on the disk, or cannot be: whether it is. */
  end(entry: Entry, reason: LeaseReason): Promise<boolean> {
    return this.endings.end([{ entry, reason }]);
  }

  /** Whether the owner of a lease is known to have ended. */
  hasEnded({ lease }: Entry): boolean {
    return hasEnded(lease, this.#ports.owners);
  }

  /** Tells `uid` about a lease until `signal` aborts. */
  follow(entry: Entry, uid: number, tell: Tell, signal: AbortSignal): void {
    const unfollow = this.followers.follow(entry, uid, tell);
    const ended = (): void => {
      unfollow();
      this.looks.soon(entry);
    };
    signal.addEventListener('abort', ended, { once: true });
    if (signal.aborted) ended();
  }

  /** Looks at the devices of leases, of these resources if they are named: some may have become unusable, or usable again. */
  lookAtDevices(resources?: ReadonlySet<string>): void {
    this.#impairments.lookAtAll(resources);
  }

  /**
   * An operator says that no device of unknown ownership is in use. Returns the state that this ended, undefined when nothing was
   * wrong.
   */
  async reset(): Promise<'stale' | 'unknown' | 'unread' | undefined> {
    const before = this.#state;
    if (before === 'ok' || before === 'unread') return before === 'ok' ? undefined : before;
    const unknown = [...this.#ledger.all()].filter(
      ({ lease }) => before === 'unknown' || lease.reason === 'ledger-recovered',
    );
    await this.endings.end(unknown.map((entry) => ({ entry, reason: 'ledger-reset' })));
    this.#state = 'ok';
    await this.#ports.store.setLedger('ok');
    await this.#cdiNames.reconcile(true);
    return before;
  }

  /** Stops looking. */
  stop(): void {
    this.#isStopping = true;
    this.#alarms.stop();
    this.looks.stop();
    this.#impairments.stop();
    this.followers.stop();
  }

  /** Begins its time to live. */
  #begin(entry: Entry): void {
    const { ttlMs } = entry.lease;
    if (ttlMs === undefined) return;
    const { clock, bootMs } = this.#ports;
    const wallMs = clock.wall();
    entry.renewed = { bootMs: Math.round(bootMs()), wallMs };
    entry.endsAt = clock.mono() + ttlMs;
    entry.lease = { ...entry.lease, expiresAt: wallMs + ttlMs };
  }

  /** Waits for the end of its time to live, in the place of the one before the last renewal. */
  #await(entry: Entry): void {
    const { endsAt } = entry;
    if (endsAt !== undefined) this.#alarms.set(endsAt - this.#ports.clock.mono(), () => this.#endIfOver(entry), entry);
  }

  #endIfOver(entry: Entry): void {
    if (!this.#ledger.has(entry) || entry.lease.state === 'asking') return;
    if (entry.endsAt !== undefined && this.#ports.clock.mono() >= entry.endsAt) void this.end(entry, 'ttl-over');
    else if (this.hasEnded(entry)) void this.end(entry, 'owner-ended');
  }

  #check(): void {
    this.#alarms.set(this.#ports.settings.checkMs, () => this.#check());
    void this.#lookAtAll();
  }

  /** Looks at the owners of all leases, some in each turn of the loop, and at CDI names that are missing. */
  async #lookAtAll(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      let looked = 0;
      for (const entry of [...this.#ledger.all()]) {
        this.#endIfOver(entry);
        looked += 1;
        if (looked % LOOKS_A_TURN === 0) await this.#ports.nextTurn();
      }
      await this.#cdiNames.again(this.#state === 'ok');
    } finally {
      this.#isLooking = false;
    }
    this.lookAtDevices();
  }
}
