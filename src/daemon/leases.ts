// Wires the allocator: what plugins offer, the ledger in the checkpoint, and alloc.sock.
import { Consumers } from '../allocation/consumers.js';
import { Allocations } from '../allocation/allocations.js';
import type { AllocationMetrics, CdiFiles, Offer } from '../allocation/ports.js';
import type { LiveConfig } from '../config/live-config.js';
import type { CheckpointStore, OpenedCheckpoint } from '../checkpoint/store.js';
import type { FloodGate } from '../flood/flood-gate.js';
import { DecodedLists } from '../inventory/decoded-lists.js';
import { resourcesOf } from '../inventory/resources.js';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { ListListener } from '../model/device-list.js';
import type { EventSink } from '../model/event.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { RosterListener } from '../model/instance.js';
import type { LedgerView } from '../model/views.js';
import type { AllocatePolicy, Settings } from '../model/settings.js';
import { AllocatorSocket } from '../platform/listeners/allocator-socket.js';
import type { PodOwner } from '../front/pods.js';
import { isThere } from '../platform/fs/directories.js';
import { onceATurn, owners } from '../platform/peer/owners.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { devicesOf } from '../platform/wire/list-decoder.js';
import { DevicePluginHandler } from '../session/device-plugin-handler.js';
import type { Broker } from './broker.js';

/** What it is made of. */
export interface LeaseParts {
  readonly live: Pick<LiveConfig, 'policyFor' | 'consumerOf'> & { readonly current: { readonly settings: Settings } };
  readonly ownUid: number;
  readonly store: CheckpointStore;
  readonly flood: Pick<FloodGate, 'allocations'>;
  readonly cdi: CdiFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly bootId: string;
  readonly bootMs: () => number;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: Metrics & AllocationMetrics;
  /** Has the doors and their guard. */
  readonly broker: Pick<Broker, 'core' | 'newGate' | 'acceptFailed'>;
  /** Whether the kernel says who calls. */
  readonly peers: { readonly isExact?: boolean };
  /** alloc.sock cannot be served (one sentence), or can again. */
  readonly degraded: (why: string | undefined) => void;
}

/** Pods of a kubelet that have devices. */
interface PodSource {
  pods(resource: string): readonly PodOwner[];
  /** By device. */
  ownersOf(resource: string): ReadonlyMap<string, unknown>;
}
const noPods: PodSource = { pods: () => [], ownersOf: () => new Map() };

/** The allocator and its socket. */
export class Leases implements RosterListener, ListListener {
  readonly allocations: Allocations;
  /** For whom the devices of each resource are. */
  readonly consumers: Consumers;
  readonly #parts: LeaseParts;
  readonly #decoded = new DecodedLists(devicesOf);
  #front: PodSource = noPods;
  #socket: AllocatorSocket | undefined;
  #isChanging = false;
  #isStopping = false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    const { live, store, clock, random, metrics } = parts;
    const { settings } = live.current;
    const policy = (resource: string): AllocatePolicy => live.policyFor(DEVICE_PLUGIN, resource, '').allocate;
    this.consumers = new Consumers({
      wanted: (resource) => live.consumerOf(DEVICE_PLUGIN, resource, ''),
      hasLeases: (resource) => this.allocations.allocatedOf(resource).size > 0,
      heldByPods: (resource) => this.#front.ownersOf(resource).size,
    });
    this.allocations = new Allocations({
      offer: (resource) => this.#offer(resource),
      policy,
      consumer: (resource) => this.consumers.of(resource),
      settings: settings.allocator,
      timeouts: settings.timeouts,
      flood: (uid) => parts.flood.allocations.ask(uid),
      store: {
        get mayWrite() {
          return store.mayWrite;
        },
        put: async (record) => (await store.update((draft) => draft.putLease(record))) === 'durable',
        remove: async (id) => (await store.update((draft) => draft.removeLease(id))) === 'durable',
        setLedger: async (state) => (await store.update((draft) => draft.setLedger(state))) === 'durable',
      },
      owners: onceATurn(owners, nextTurn),
      cdi: parts.cdi,
      clock,
      random,
      bootId: parts.bootId,
      bootMs: parts.bootMs,
      isThere,
      events: parts.events,
      log: parts.log,
      metrics,
      nextTurn,
    });
  }

  /** There are pods that have devices. */
  besides(front: PodSource): void {
    this.#front = front;
  }

  /** What `status` shows. */
  view(): LedgerView {
    const { keeper, waiting } = this.allocations;
    return { state: keeper.state, leases: this.allocations.leases().length, waiting };
  }

  /** Puts the leases of the checkpoint back, before anything is served. */
  async restore({ ledger }: OpenedCheckpoint): Promise<void> {
    await this.allocations.keeper.restore([...this.#parts.store.contents.leases.values()], ledger);
  }

  /** Serves alloc.sock. A socket that cannot be made costs new leases, never the daemon. */
  async open(): Promise<void> {
    const { broker, live, ownUid, log, clock, peers, degraded } = this.#parts;
    const { settings } = live.current;
    if (!settings.allocator.enabled || this.#isStopping) return;
    if (broker.core.restart.isSettled) this.settled();
    this.#socket = new AllocatorSocket({
      settings,
      clock,
      log,
      ownUid,
      isExact: peers.isExact === true,
      allocations: this.allocations,
      pods: (resource) => this.#front.pods(resource),
      accept: broker.newGate().accept,
      acceptFailed: broker.acceptFailed,
      degraded,
    });
    await this.#socket.open();
  }

  /** The plugins of the checkpoint have come back, or have not. */
  settled(): void {
    this.allocations.keeper.settled();
  }

  changed(): void {
    this.#changed();
  }

  listApplied(): void {
    this.#changed();
  }

  /** Sends everybody away who waits, lets what is being given end, and stops serving. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.allocations.stop();
    await this.#socket?.close();
    this.allocations.close();
  }

  /** Many changes of one turn are one. */
  #changed(): void {
    if (this.#isChanging || this.#isStopping) return;
    this.#isChanging = true;
    void nextTurn().then(() => {
      this.#isChanging = false;
      if (!this.#isStopping) this.allocations.changed();
    });
  }

  #offer(resource: string): Offer | undefined {
    const { roster, inventory, handlers } = this.#parts.broker.core;
    const lists = roster.ofPlugin(DEVICE_PLUGIN, resource).flatMap(({ id }) => inventory.holding(id) ?? []);
    const found = resourcesOf(lists, (id) => roster.get(id)).get(resource);
    const instance = found === undefined ? roster.primaryOf(DEVICE_PLUGIN, resource) : roster.get(found.owner.id);
    if (instance === undefined) return undefined;
    const handler = handlers.get(DEVICE_PLUGIN);
    const calls = handler instanceof DevicePluginHandler ? handler.callsOf(instance.id) : undefined;
    const isPreferredAvailable = instance.facts['preferredAllocationAvailable'] === true;
    return {
      isReady: found !== undefined && instance.state === 'ready',
      state: `${instance.state} (${instance.reason})`,
      instanceId: instance.id,
      devices: found === undefined ? undefined : this.#decoded.of(resource, found.holding.raw),
      plugin: calls === undefined ? undefined : { isPreferredAvailable, ...calls },
    };
  }
}
