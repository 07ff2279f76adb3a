// Wires the allocator: the offers of plugins, the ledger in the checkpoint, and alloc.sock.
import { Consumers } from '../allocation/consumers.js';
import { Allocations } from '../allocation/allocations.js';
import { Changes } from '../allocation/changes.js';
import { Ledger } from '../allocation/ledger.js';
import { Offers } from '../allocation/offers.js';
import type { AllocationMetrics, AllocationPorts, CdiFiles } from '../allocation/ports.js';
import { ResourceRules } from '../allocation/resource-rules.js';
import type { LiveConfig } from '../config/live-config.js';
import { leaseRecords } from '../checkpoint/lease-records.js';
import type { OpenedCheckpoint } from '../checkpoint/ports.js';
import type { CheckpointStore } from '../checkpoint/store.js';
import type { FloodGate } from '../flood/flood-gate.js';
import { DecodedLists } from '../inventory/decoded-lists.js';
import type { Surroundings } from '../kernel/surroundings.js';
import type { EventSink } from '../model/event.js';
import type { Settings } from '../model/settings.js';
import type { LedgerView } from '../model/views.js';
import { allocatorSocket } from '../platform/listeners/allocator-socket.js';
import type { KeptDoor } from '../platform/listeners/kept-door.js';
import type { Owners } from '../front/owners.js';
import { onceATurn, owners } from '../platform/peer/owners.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { devicesInTurns, devicesOf } from '../platform/wire/list-decoder.js';
import type { Broker } from './broker.js';

/** The parts of the allocator: Daemon (daemon/daemon) has them, its adapters of `assemble` (daemon/assemble). */
export interface LeaseParts extends Surroundings {
  readonly live: Pick<LiveConfig, 'policyFor' | 'consumerOf'> & { readonly current: { readonly settings: Settings } };
  readonly ownUid: number;
  readonly userOf: AllocationPorts['userOf'];
  readonly store: CheckpointStore;
  readonly flood: Pick<FloodGate, 'allocations'>;
  readonly cdi: CdiFiles;
  readonly bootId: string;
  readonly bootMs: () => number;
  readonly events: EventSink;
  readonly metrics: Surroundings['metrics'] & AllocationMetrics;
  /** Pods of a kubelet that have devices. */
  readonly pods: Pick<Owners, 'pods' | 'heldOf' | 'unsure'>;
  /** Has the doors and their guard. */
  readonly broker: Pick<Broker, 'core' | 'newGate' | 'acceptFailed'>;
  /** Whether the kernel identifies callers. */
  readonly peers: { readonly isExact?: boolean };
  /** alloc.sock cannot be served (one sentence), or can again: Conditions.set (journal/conditions). */
  readonly degraded: (why: string | undefined) => void;
}

/** The allocator and its socket. */
export class Leases {
  readonly allocations: Allocations;
  /** The consumers of each resource. */
  readonly consumers: Consumers;
  /** Passes changes of plugins on to waiting requests. */
  readonly changes: Changes;
  readonly #parts: LeaseParts;
  #socket: KeptDoor | undefined;
  #isStopping = false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    const { live, store, clock, random, metrics, ownUid, userOf, cdi, bootId, bootMs, events, log } = parts;
    const { settings } = live.current;
    const { core } = parts.broker;
    const rules = new ResourceRules(core.offered, live);
    const offers = new Offers({
      ...{ ownUid, userOf, rules },
      resources: core.offered,
      plugins: core.devicePlugins,
      decoded: new DecodedLists({ decode: devicesOf, decodeInTurns: devicesInTurns, clock }),
    });
    const ledger = new Ledger();
    this.consumers = new Consumers({ rules, offers, ledger, pods: parts.pods, resources: core.offered });
    const ports: AllocationPorts = {
      ...{ offers, rules, consumers: this.consumers },
      settings: settings.allocator,
      timeouts: settings.timeouts,
      flood: parts.flood.allocations,
      store: leaseRecords(store),
      owners: onceATurn(owners, nextTurn),
      ...{ ownUid, userOf, cdi, clock, random, bootId, bootMs, events, log, metrics },
      nextTurn,
    };
    this.allocations = new Allocations(ports, ledger);
    this.changes = new Changes(clock, nextTurn, (resources) => this.allocations.changed(resources));
    this.consumers.listeners.follow(this.changes);
  }

  /** Puts the leases of the checkpoint back, before anything is served; their CDI files after that. */
  async restore({ ledger }: OpenedCheckpoint): Promise<void> {
    await this.allocations.keeper.restore([...this.#parts.store.contents.leases.values()], ledger);
  }

  /**
   * Serves alloc.sock, once no file of an earlier lease is left. A socket that cannot be made costs new leases, never the daemon.
   */
  async open(): Promise<void> {
    const { broker, live, ownUid, userOf, log, clock, peers, pods, degraded } = this.#parts;
    const { settings } = live.current;
    await this.allocations.keeper.removeLeftovers();
    if (!settings.allocator.enabled || this.#isStopping) return;
    this.#socket = allocatorSocket({
      settings,
      clock,
      log,
      ...{ ownUid, userOf },
      isExact: peers.isExact === true,
      allocations: this.allocations,
      pods: (resource) => pods.pods(resource),
      gate: broker.newGate(),
      acceptFailed: broker.acceptFailed,
      degraded,
    });
    await this.#socket.open();
  }

  /** The ledger as `status` shows it. */
  get view(): LedgerView {
    const { keeper, waiting } = this.allocations;
    return { state: keeper.state, leases: this.allocations.leases().length, waiting };
  }

  /** Ends all waiting requests, lets leases that are being given end within `callsMs`, and stops serving. */
  async stop(callsMs: () => number): Promise<void> {
    this.#isStopping = true;
    this.changes.stop();
    this.allocations.stop();
    await this.#socket?.close(callsMs);
    this.allocations.close();
  }
}
