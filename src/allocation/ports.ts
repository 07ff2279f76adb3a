// The ports of the ledger.
import type { LeaseReason } from '../model/allocation-reasons.js';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Random } from '../kernel/random.js';
import type { Device } from '../model/device.js';
import type { Counted, PreferredQuestion } from '../model/device-use.js';
import type { UserFacts } from '../model/ids.js';
import type { EventSink } from '../model/event.js';
import type { CdiClaim, CdiResult, CgroupLife, Lease, LedgerStore, PluginAnswer, ProcessLife } from '../model/lease.js';
import type { AllocatePolicy, AllocatorSettings, Consumer, Timeouts } from '../model/settings.js';

/**
 * The CDI file of each lease: LeaseFiles (cdi/lease-files). It is derived from the ledger and can always be written again; a
 * failure of it refuses no allocation. One method at a time is called for one lease, but `remove` while `write` is under way
 * where the lease ends then, and once more after it; none rejects.
 */
export interface CdiFiles {
  /**
   * Writes the file of a lease, while its record is on its way to the disk and before its owner is told, or later.
   *
   * @param isRecorded gives whether the record is there; until it does no engine finds the file, and on false there is none.
   *   Undefined: it is there
   * @returns the qualified CDI name of the lease, or why it has none (undefined: CDI is off)
   */
  write(lease: Lease, isRecorded?: Promise<boolean>): Promise<CdiResult | undefined>;
  /** Removes the file of a lease, after its release is on the disk. */
  remove(leaseId: string): Promise<void>;
  /** A file of a lease that is over could not be removed: {@link reconcile} is needed, which removes it. */
  readonly hasLeftovers: boolean;
  /**
   * At a start, before readiness, after a reset, and where there are leftovers: writes what is missing and removes files of ours
   * without a lease.
   *
   * @param mayRemove false while the ledger is unknown, stale, unread or of a newer format: then nothing is removed
   * @param lives whether a lease is there, or being given, when it is called: some come meanwhile
   * @returns the CDI name of each lease, or why it has none; nothing when CDI is off
   */
  reconcile(
    leases: readonly Lease[],
    mayRemove: boolean,
    lives: (leaseId: string) => boolean,
  ): Promise<ReadonlyMap<string, CdiResult>>;
  /** The claims of our files that were written in this boot; read before `reconcile`, where the newest ledger is lost. */
  claims(): Promise<readonly CdiClaim[]>;
}

/** No CDI at all (`cdi.dir: off`). */
export const noCdi: CdiFiles = {
  write: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
  hasLeftovers: false,
  reconcile: () => Promise.resolve(new Map()),
  claims: () => Promise.resolve([]),
};

/** Calls to the plugin that serves a resource now: DeviceCalls (model/device-use) of its session. All reject with FailedCall. */
export interface AllocatingPlugin {
  /** From the options that it answered. */
  readonly isPreferredAvailable: boolean;
  /** See DeviceCalls (model/device-use). */
  allocate(ids: readonly string[], limitMs: number, signal: AbortSignal, counted: Counted): Promise<PluginAnswer>;
  preferred(
    question: PreferredQuestion,
    limitMs: number,
    signal: AbortSignal,
    counted: Counted,
  ): Promise<readonly string[]>;
}

/** The present offer of a resource. */
export interface Offer {
  /** The plugin is registered, confirmed and connected; else it is away: held, restarting, quarantined. */
  readonly isReady: boolean;
  /** How the plugin is called in messages: its state and why. */
  readonly state: string;
  /** The incarnation that serves it. */
  readonly instanceId: string;
  /**
   * The uid of its plugin, where that is neither root nor the broker's user nor named by its rule: its answers may not reach into
   * the host.
   */
  readonly stranger: number | undefined;
  /** How many devices its newest list has, known without reading it; 0 while none is known. */
  readonly listed: number;
  /** The devices of its newest list, in its order; undefined while none is known. */
  readonly devices: readonly Device[] | undefined;
  /** Undefined while nobody can be called. */
  readonly plugin: AllocatingPlugin | undefined;
}

/**
 * The visible state of the processes and control groups that leases are bound to: `owners` (platform/peer/owners). No method
 * throws; an owner that cannot be looked at now, for want of a descriptor or of a permission, or because somebody holds the lock of its
 * directory, is taken to be there: its devices
 * would be given to another owner otherwise. `uid` is that of the lease.
 */
export interface OwnerPort {
  /** Whether a thread of that very process has not ended. */
  isAlive(process: ProcessLife, uid: number): boolean;
  /** The control group of a process as it is now; undefined where it cannot be seen, and could not be looked at again. */
  cgroupOf(pid: number, uid: number): CgroupLife | undefined;
  /** Whether that very group is there and not empty. */
  isPopulated(cgroup: CgroupLife, uid: number): boolean;
}

/** The metrics of the allocator: BrokerMetrics (platform/metrics/broker-metrics). */
export interface AllocationMetrics {
  /**
   * An allocation ended; `result` is `given` or a code of the table.
   *
   * @param stranger the ordinary user whose plugin it is, or, where nobody offers the resource any more, who asked
   */
  allocation(resource: string, result: string, stranger?: number): void;
  /** Seconds of one part of an allocation that was given: waiting, the plugin, the disk, or all of it. */
  allocateSeconds(part: 'wait' | 'plugin' | 'disk' | 'all', seconds: number): void;
}

/** The subject of a call: devices to be given, or existing leases. Each has a bucket. */
export type AskedAbout = 'devices' | 'leases';

/** Everything that giving out devices takes. */
export interface AllocationPorts extends UserFacts {
  /** The offers of resources: Offers (allocation/offers). */
  readonly offers: {
    /** Undefined: nobody has ever offered it, or it is gone. */
    of(resource: string): Offer | undefined;
    /** Has the lists of resources at hand when it resolves, so that reading them takes no time. Undefined: they are. Never rejects. */
    prepare(resources: Iterable<string>): Promise<unknown> | undefined;
  };
  /** The configuration of resources: ResourceRules (allocation/resource-rules). */
  readonly rules: { allocateOf(resource: string): AllocatePolicy };
  /** The consumer of each resource: Consumers (allocation/consumers). */
  readonly consumers: {
    of(resource: string): Consumer;
    /** The news that is waited for until pods are known to have no devices of it: the end of a sentence; undefined: none. */
    unsure(resource: string): string | undefined;
  };
  readonly settings: AllocatorSettings;
  readonly timeouts: Pick<Timeouts, 'allocateMs' | 'preferredMs'>;
  /** How often users may ask: AllocateLimit (flood/allocate-limit). */
  readonly flood: {
    /**
     * Counts a call of this uid about devices, or about existing leases. Returns the milliseconds until it may ask again;
     * undefined: the call may go on.
     */
    ask(uid: number, about: AskedAbout): number | undefined;
  };
  readonly store: LedgerStore;
  readonly owners: OwnerPort;
  readonly cdi: CdiFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly bootId: string;
  /** Milliseconds since the machine started: `uptimeMs` (platform/time/boot). */
  readonly bootMs: () => number;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: AllocationMetrics;
  /** Resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn). */
  readonly nextTurn: () => Promise<void>;
}

/** A caller at alloc.sock. */
export interface AllocationCaller {
  readonly uid: number;
  /** Undefined where the kernel does not show it. */
  readonly process: ProcessLife | undefined;
}

/** A change of a lease, for its followers. */
export interface LeaseNews {
  readonly type: 'attached' | 'active' | 'unconfirmed' | 'impaired' | 'released' | 'expired';
  readonly reason: LeaseReason | '';
  readonly message: string;
  readonly lease: Lease;
}
