// A broker in this process on real sockets, with nothing but what a test asks for.
import path from 'node:path';
import { guarding } from './guarding.js';
import { loadDefaults } from './test-settings.js';
import { noMetrics, silentLog } from './silence.js';
import type { EventDraft } from '../../src/model/event.js';
import type { PluginView, ResourceView } from '../../src/model/views.js';
import type { PluginPolicy, Settings } from '../../src/model/settings.js';
import { Broker, type BrokerParts } from '../../src/daemon/broker.js';
import { subscribe } from '../../src/daemon/subscriptions.js';
import { Inventory } from '../../src/inventory/inventory.js';
import { pluginSockets } from '../../src/platform/fs/socket-paths.js';
import { decodeList, devicesOf, partsOf } from '../../src/platform/wire/list-decoder.js';
import { Roster } from '../../src/reconcile/roster.js';
import { deviceView, pluginViews, resourceViews } from '../../src/admin/plugin-views.js';
import { systemClock } from '../../src/platform/time/system-clock.js';
import { systemRandom } from '../../src/platform/time/system-random.js';

export interface TestBroker {
  readonly broker: Broker;
  readonly settings: Settings;
  readonly events: readonly EventDraft[];
  readonly kubeletSocket: string;
  plugins(): PluginView[];
  resources(): ResourceView[];
  /** capacity/allocatable of a resource; undefined when there is none. */
  counts(resource: string): { capacity: number; allocatable: number } | undefined;
  stop(): Promise<void>;
}

/** Starts a broker below `root`. `change` adapts the settings, `parts` replaces what it is made of. */
export async function startTestBroker(
  root: string,
  change: (settings: Settings) => Settings = (settings) => settings,
  parts: Partial<BrokerParts> = {},
  policy: (policy: PluginPolicy, name: string) => PluginPolicy = (given) => given,
): Promise<TestBroker> {
  const { settings: defaults, policyFor } = loadDefaults(root);
  const settings = change(defaults);
  const events: EventDraft[] = [];
  const broker = new Broker({
    live: {
      settings,
      admission: settings.admission,
      liveness: settings.liveness,
      nameAllowed: () => true,
      policyFor: (type, name, socket) =>
        policy({ ...policyFor(type, name, socket), graceMs: settings.grace.deviceMs }, name),
    },
    self: { uid: process.getuid?.() ?? 0, pid: 0 },
    paths: pluginSockets(settings.paths, process.getuid?.() ?? 0),
    userOf: (uid) => uid,
    namesMove: () => false,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    metrics: noMetrics,
    events: { record: (event) => void events.push(event) },
    flood: {
      quarantined: () => undefined,
      registration: () => ({ kind: 'pass' }),
      openPacer: () => ({
        tryTake: () => true,
        nextTurn: () => Promise.resolve(true),
        room: () => Promise.resolve(),
        spend: () => undefined,
        onExceed: 'coalesce',
        close: () => undefined,
      }),
    },
    connections: {
      isEnforced: true,
      turnsAway: () => undefined,
      makeRoom: () => false,
      admit: () => ({ ok: true, release: () => undefined }),
    },
    reads: () => undefined,
    roster: new Roster(systemClock, { ownUid: process.getuid?.() ?? 0, userOf: (uid) => uid }),
    inventory: new Inventory({ decode: decodeList, live: settings, metrics: noMetrics }),
    peers: {
      peerOf: () => ({
        uid: process.getuid?.() ?? 0,
        gid: undefined,
        pid: undefined,
        startTime: undefined,
        source: 'socket-file',
      }),
      uidOf: () => undefined,
      uidOfTcp: () => undefined,
      turnAwayMore: () => undefined,
      turnAwayMoreTcp: () => undefined,
      listenerOf: (socket) => ({ uid: socket.uid, gid: undefined, pid: undefined }),
      isListening: () => undefined,
    },
    store: {
      expect: () => undefined,
      persist: (instance) => {
        instance.isDurable = true;
        return Promise.resolve(true);
      },
      isKept: () => Promise.resolve(true),
      isDeregistered: () => false,
    },
    handlers: [],
    guarding,
    countConnection: () => undefined,
    restartListener: { settled: () => undefined },
    degraded: () => undefined,
    ...parts,
  });
  subscribe({ core: broker.core });
  await broker.bind();
  await broker.publish();
  await broker.open(() => Promise.resolve());
  const resources = (): ResourceView[] =>
    resourceViews(broker.core, partsOf).map((view) => {
      const list = broker.core.offered.all().get(view.name)?.holding.raw;
      const devices = list === undefined ? [] : devicesOf(list);
      return { ...view, devices: devices.map((device) => deviceView(device, new Map())) };
    });
  return {
    broker,
    settings,
    events,
    kubeletSocket: path.join(settings.paths.devicePlugins, 'kubelet.sock'),
    plugins: () => pluginViews(broker.core, () => ({ strikes: 0, quarantinedUntil: undefined })),
    resources,
    counts: (name) => {
      const found = broker.core.offered.all().get(name);
      return found === undefined ? undefined : { capacity: found.capacity, allocatable: found.allocatable };
    },
    stop: async () => {
      await broker.stop(() => 5000);
      await broker.closeSessions();
      await broker.closeOperators(1000);
    },
  };
}
