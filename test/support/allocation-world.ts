import { Allocations } from '../../src/allocation/allocations.js';
import { Ledger } from '../../src/allocation/ledger.js';
import { noCdi, type AllocatingPlugin, type AllocationPorts, type Offer } from '../../src/allocation/ports.js';
import type { RawRequest } from '../../src/allocation/request.js';
import { silentLog } from './silence.js';
import { seededRandom } from './seeded-random.js';
import type { Counted } from '../../src/model/device-use.js';
import type { EventDraft } from '../../src/model/event.js';
import type { LeaseRecord, LedgerState, PluginAnswer } from '../../src/model/lease.js';
import { FakeClock } from './fake-clock.js';
import { NO_ANSWER } from './leases.js';

/** A resource of a test: its devices, and what its plugin does. */
export interface FakeResource {
  devices: { id: string; health: string; numaNodes: number[] }[];
  isReady: boolean;
  allocate: (ids: readonly string[], counted: Counted, signal: AbortSignal) => Promise<PluginAnswer>;
  preferred?: (available: readonly string[], counted: Counted) => Promise<readonly string[]>;
  /** The uid of its plugin, where that is an ordinary user. */
  stranger?: number;
}

/** The things that outlive the broker: the disk, and the processes of the machine. */
export class FakeMachine {
  readonly disk = new Map<string, LeaseRecord>();
  readonly processes = new Map<number, string>();
  readonly resources = new Map<string, FakeResource>();
  isWritable = true;
  bootId = 'boot-1';
  readonly clock = new FakeClock();

  /** A resource with healthy devices that are given to everybody. */
  offer(name: string, ...ids: string[]): FakeResource {
    const devices = ids.map((id) => ({ id, health: 'Healthy', numaNodes: [] }));
    const resource: FakeResource = { devices, isReady: true, allocate: () => Promise.resolve(NO_ANSWER) };
    this.resources.set(name, resource);
    return resource;
  }
}

/** The ports that a test sets itself; `prepare` alone of offers. */
export type MorePorts = Partial<AllocationPorts> & Partial<Pick<AllocationPorts['offers'], 'prepare'>>;

/** An allocator on a machine; a second one on the same machine is a restart. */
export async function allocationWorld(
  machine: FakeMachine,
  { prepare = () => undefined, ...more }: MorePorts = {},
  ledger: LedgerState | 'unread' = 'ok',
): Promise<{ readonly allocations: Allocations; readonly events: EventDraft[]; crash: () => void }> {
  const events: EventDraft[] = [];
  let isAlive = true;
  const ports: AllocationPorts = {
    offers: {
      of: (name): Offer | undefined => {
        const found = machine.resources.get(name);
        if (found === undefined) return undefined;
        const { isReady, devices, allocate, preferred } = found;
        const plugin = {
          isPreferredAvailable: preferred !== undefined,
          allocate: ((ids, _limitMs, signal, counted) =>
            allocate(ids, counted, signal)) satisfies AllocatingPlugin['allocate'],
          preferred: (({ available }, _limitMs, _signal, counted) =>
            preferred?.(available, counted) ?? Promise.resolve([])) satisfies AllocatingPlugin['preferred'],
        };
        return {
          isReady,
          state: isReady ? 'ready' : 'held',
          instanceId: name,
          stranger: found.stranger,
          listed: devices.length,
          devices,
          plugin: isReady ? plugin : undefined,
        };
      },
      prepare,
    },
    rules: { allocateOf: () => ({ uids: undefined, max: undefined, consumer: undefined, env: new Map() }) },
    consumers: { of: () => 'local', unsure: () => undefined },
    settings: { enabled: true, group: '', checkMs: 10_000, joinEnv: [], maxLeases: 1024 },
    timeouts: { allocateMs: 10_000, preferredMs: 1000 },
    flood: { ask: () => undefined },
    ownUid: 1000,
    userOf: (uid) => uid,
    store: {
      mayWrite: true,
      put: async (record) => {
        await Promise.resolve();
        if (isAlive && machine.isWritable) machine.disk.set(record.id, record);
        return isAlive && machine.isWritable;
      },
      remove: async (id) => {
        await Promise.resolve();
        if (isAlive && machine.isWritable) machine.disk.delete(id);
        return isAlive && machine.isWritable;
      },
      expect: () => undefined,
      setLedger: () => Promise.resolve(true),
      isKept: () => Promise.resolve(true),
    },
    owners: {
      isAlive: ({ pid, startTime }) => machine.processes.get(pid) === startTime,
      cgroupOf: () => undefined,
      isPopulated: () => false,
    },
    cdi: noCdi,
    clock: machine.clock,
    random: seededRandom(1),
    bootId: machine.bootId,
    bootMs: () => machine.clock.mono(),
    events: { record: (event) => void events.push(event) },
    log: silentLog,
    metrics: { allocation: () => undefined, allocateSeconds: () => undefined },
    nextTurn: () => Promise.resolve(),
    ...more,
  };
  const allocations = new Allocations(ports, new Ledger());
  await allocations.keeper.restore([...machine.disk.values()], ledger);
  await allocations.keeper.placeFiles();
  return {
    allocations,
    events,
    crash: () => {
      isAlive = false;
      allocations.stop();
      allocations.close();
    },
  };
}

/** A request for devices of one resource. */
export function request(
  resource: string,
  more: Partial<RawRequest> & { count?: number; ids?: readonly string[] } = {},
): RawRequest {
  const { count = 0, ids = [], ...rest } = more;
  return { wants: [{ resource, count, ids, numa: '' }], owner: undefined, key: '', ttlMs: 0, waitMs: 0, ...rest };
}
