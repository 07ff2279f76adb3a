import type { AdminPort, ShownStatus } from '../../src/admin/admin-port.js';
import { UNUSED, type ShownResource } from '../../src/admin/plugin-views.js';
import type { BrokerEvent, EventQuery } from '../../src/model/event.js';
import { pluginKey, type PluginId } from '../../src/model/ids.js';
import { nextTurn } from '../../src/platform/time/next-turn.js';
import type {
  HolderView,
  LimitView,
  PluginView,
  RefusedView,
  ReloadView,
  ResourceView,
  StatusView,
} from '../../src/model/views.js';

/** A plugin's view; only what a test cares about needs to be given. */
export function pluginView(given: Partial<PluginView> = {}): PluginView {
  return {
    type: 'DevicePlugin',
    name: 'example.com/gpu',
    primary: true,
    state: 'ready',
    reason: 'registered',
    endpoint: '/run/pb/device-plugins/gpu.sock',
    socket: '/run/pb/device-plugins/gpu.sock',
    uid: 1000,
    pid: 4242,
    apiVersion: 'v1beta1',
    registeredAt: '2030-01-01T00:00:00.000Z',
    stateSince: '2030-01-01T00:00:00.000Z',
    resource: 'example.com/gpu',
    counters: { registrations: 1, rejected: 0, updates: 3, coalesced: 0, disconnects: 0, strikes: 0 },
    quarantinedUntil: '',
    ...given,
  };
}

/** A resource's view. */
export function resourceView(given: Partial<ResourceView> = {}): ResourceView {
  return {
    name: 'example.com/gpu',
    plugin: 'DevicePlugin/example.com/gpu',
    state: 'ready',
    capacity: 2,
    allocatable: 1,
    allocated: 0,
    consumer: 'local',
    front: { state: 'off', reason: '', since: '', told: { healthy: 0, unhealthy: 0 }, stays: false },
    devices: [
      { id: 'gpu-0', health: 'Healthy', numaNodes: [0], lease: '', owner: '' },
      { id: 'gpu-1', health: 'Unhealthy', numaNodes: [], lease: '', owner: '' },
    ],
    ...given,
  };
}

/** Devices as they are taken from a list. */
export async function* inParts<T>(devices: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let from = 0; from < devices.length; from += 512) {
    await nextTurn();
    yield devices.slice(from, from + 512);
  }
}

/** A limit's view. */
export function limitView(given: Partial<LimitView> = {}): LimitView {
  return {
    limit: 'register',
    plugin: 'DevicePlugin/example.com/gpu',
    uid: 1000,
    mode: 'enforce',
    permits: 4,
    burst: 5,
    intervalMs: 2000,
    nextInMs: 1500,
    strikes: 0,
    quarantinedUntil: '',
    exceeded: 0,
    slowing: '',
    source: 'flood',
    ...given,
  };
}

/** An event. */
export function brokerEvent(given: Partial<BrokerEvent> = {}): BrokerEvent {
  return {
    time: '2030-01-01T00:00:00.000Z',
    seq: 1,
    type: 'registered',
    reason: 'registered',
    plugin: 'DevicePlugin/example.com/gpu',
    socket: '/run/pb/device-plugins/gpu.sock',
    message: 'example.com/gpu registered',
    ...given,
  };
}

/** A broker made of views that a test sets, which notes what operators did to it. */
export class FakeAdminPort implements AdminPort {
  pluginList: PluginView[] = [];
  resourceList: ResourceView[] = [];
  limitList: LimitView[] = [];
  refusedList: RefusedView[] = [];
  reloaded: ReloadView | undefined;
  phase: StatusView['broker']['phase'] = 'ready';
  eventList: BrokerEvent[] = [];
  /** The holders of devices, the same for every resource. */
  taken = new Map<string, HolderView>();
  readonly use = { ...UNUSED, takenOf: () => this.taken };
  /** The answer to verbs: entries touched, or an error. */
  touched: number | Error = 1;
  readonly done: string[] = [];
  /** Whether the disk takes it. */
  mayWrite = true;
  readonly #followers = new Set<() => void>();

  /** How many readers of events are waiting for more. */
  get followers(): number {
    return this.#followers.size;
  }

  status(): ShownStatus {
    return { ...this.picture(), resources: this.resources() };
  }

  /** The picture as a client has it. */
  picture(): StatusView {
    return {
      broker: {
        version: '1.2.3',
        pid: 77,
        phase: this.phase,
        startedAt: '2030-01-01T00:00:00.000Z',
        bootId: 'boot',
        restoredPlugins: 0,
        problems: [],
      },
      checkpoint: { state: 'ok', generation: 9, bytes: 2048, lastWrite: '2030-01-01T00:00:00.000Z', reason: '' },
      policy: { source: 'defaults', loadedAt: '2030-01-01T00:00:00.000Z', error: '' },
      ledger: { state: 'ok', leases: 0, waiting: 0 },
      plugins: this.pluginList,
      resources: this.resourceList,
      refused: this.refusedList,
    };
  }

  plugins(only?: ReadonlySet<string>): readonly PluginView[] {
    return this.pluginList.filter((plugin) => only?.has(pluginKey(plugin)) !== false);
  }

  entries(): readonly PluginView[] {
    return this.pluginList;
  }

  told(): readonly string[] {
    return [...new Set(this.eventList.map(({ plugin }) => plugin))].filter((plugin) => plugin !== '');
  }

  eventsOf(of: string): readonly BrokerEvent[] {
    return this.eventList.filter(({ plugin }) => plugin === of);
  }

  eventsAt(at: string): Promise<readonly BrokerEvent[]> {
    return Promise.resolve(this.eventList.filter(({ socket }) => socket === at));
  }

  resources(): readonly ShownResource[] {
    return this.resourceList.map((view) => ({ ...view, devices: () => inParts(view.devices) }));
  }

  limits(): readonly LimitView[] {
    return this.limitList;
  }

  reload(): Promise<ReloadView | undefined> {
    this.done.push('reload');
    return Promise.resolve(this.reloaded);
  }

  resetLedger(): Promise<'unknown' | undefined> {
    this.done.push('reset ledger');
    return Promise.resolve('unknown');
  }

  /** Adds an event and gives it to those who follow. */
  happen(event: BrokerEvent): void {
    this.eventList.push(event);
    for (const wake of this.#followers) wake();
  }

  async *events({ since, follow }: EventQuery, signal: AbortSignal): AsyncGenerator<BrokerEvent> {
    for (let next = 0; !signal.aborted;) {
      for (const event of this.eventList.slice(next)) if (event.seq >= since) yield event;
      next = this.eventList.length;
      if (!follow) return;
      await this.#news(signal);
    }
  }

  pardon(plugin: PluginId): Promise<number> {
    return this.#do('pardon', plugin);
  }

  deregister(plugin: PluginId): Promise<number> {
    return this.#do('deregister', plugin);
  }

  forget(plugin: PluginId): Promise<number> {
    return this.#do('forget', plugin);
  }

  isWritten(): Promise<boolean> {
    return Promise.resolve(this.mayWrite);
  }

  #do(verb: string, { type, name }: PluginId): Promise<number> {
    this.done.push(`${verb} ${type} ${name}`);
    return this.touched instanceof Error ? Promise.reject(this.touched) : Promise.resolve(this.touched);
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#followers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#followers.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
