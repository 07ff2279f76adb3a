// Wires the allocator: what plugins offer, the ledger in the checkpoint, and alloc.sock.
import type { Socket } from 'node:net';
import { Allocations } from '../allocation/allocations.js';
import type { AllocationMetrics, CdiFiles, Offer } from '../allocation/ports.js';
import type { LiveConfig } from '../config/live-config.js';
import type { CheckpointStore, OpenedCheckpoint } from '../checkpoint/store.js';
import type { FloodGate } from '../flood/flood-gate.js';
import { resourcesOf } from '../inventory/resources.js';
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { Device } from '../model/device.js';
import type { ListListener } from '../model/device-list.js';
import type { EventSink } from '../model/event.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { RosterListener } from '../model/instance.js';
import type { LedgerView } from '../model/views.js';
import type { AllocatePolicy, Settings } from '../model/settings.js';
import { isThere } from '../platform/fs/directories.js';
import { serveAllocator } from '../platform/grpc/alloc-service.js';
import type { GrpcDoor } from '../platform/grpc/grpc-door.js';
import { UnixListener } from '../platform/grpc/unix-listener.js';
import { groupId } from '../platform/process/groups.js';
import { owners } from '../platform/peer/owners.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { devicesOf } from '../platform/wire/list-decoder.js';
import { DevicePluginHandler } from '../session/device-plugin-handler.js';
import type { Broker } from './broker.js';
import type { FrontLine } from './front-line.js';

/** Calls of one connection at once: an owner needs few. */
const ALLOC_STREAMS = 32;
/** The largest request. */
const MAX_ALLOC_REQUEST_BYTES = 64 * 1024;
/** Members of the group may ask; without the kernel's word on who calls, only the broker's own user may. */
const GROUP_MODE = 0o660;
const OWN_MODE = 0o600;
/** Calls in flight are given this long when the broker stops. */
const DRAIN_MS = 5000;
/** Lists that are kept decoded, and how long each may be: deciding reads them again and again. */
const DECODED_LISTS = 32;
const DECODED_DEVICES = 4096;

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
  readonly broker: Pick<Broker, 'core' | 'openDoor' | 'acceptFailed'>;
  /** Whether the kernel says who calls. */
  readonly peers: { readonly isExact?: boolean };
  /** alloc.sock cannot be served (one sentence), or can again. */
  readonly degraded: (why: string | undefined) => void;
}

/** Pods of a kubelet that have devices. */
type PodSource = Pick<FrontLine, 'pods'>;
const noPods: PodSource = { pods: () => [] };

/** The allocator and its socket. */
export class Leases implements RosterListener, ListListener {
  readonly allocations: Allocations;
  readonly #parts: LeaseParts;
  readonly #decoded = new Map<string, { readonly raw: Buffer; readonly devices: readonly Device[] }>();
  #door: GrpcDoor | undefined;
  #endStreams: () => void = () => undefined;
  #listener: UnixListener | undefined;
  #look: Alarm | undefined;
  #isChanging = false;
  #isStopping = false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    const { live, store, clock, random, metrics } = parts;
    const { settings } = live.current;
    const policy = (resource: string): AllocatePolicy => live.policyFor(DEVICE_PLUGIN, resource, '').allocate;
    this.allocations = new Allocations({
      offer: (resource) => this.#offer(resource),
      policy,
      consumer: (resource) => live.consumerOf(DEVICE_PLUGIN, resource, ''),
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
      owners,
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
  async open(front: PodSource = noPods): Promise<void> {
    const { broker, live, ownUid, log } = this.#parts;
    const { settings } = live.current;
    if (!settings.allocator.enabled || this.#isStopping) return;
    if (broker.core.restart.isSettled) this.settled();
    const ended = ({ pid }: { readonly pid?: number | undefined } = {}): void => {
      if (pid !== undefined) this.allocations.keeper.connectionEnded(pid);
    };
    const limits = { streams: ALLOC_STREAMS, maxRequestBytes: MAX_ALLOC_REQUEST_BYTES };
    this.#door = broker.openDoor(limits, (accept) => (socket: Socket) => {
      const connection = accept(socket);
      if (connection !== undefined) socket.once('close', () => ended(connection.caller));
      return connection;
    });
    this.#endStreams = serveAllocator(this.#door, {
      allocations: this.allocations,
      pods: (resource) => front.pods(resource),
      log,
      ownUid,
    }).endStreams;
    await this.#bind();
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
    this.#look?.cancel();
    this.allocations.stop();
    this.#endStreams();
    void this.#listener?.close();
    await this.#door?.drain(DRAIN_MS);
    this.allocations.close();
  }

  async #bind(): Promise<void> {
    const { live, broker, peers, clock, log, degraded } = this.#parts;
    const { settings } = live.current;
    const { allocator, paths } = settings;
    const path = paths.allocSocket;
    try {
      const gid = groupOf(allocator.group);
      const listener = await UnixListener.bind({
        path,
        access: { mode: peers.isExact === true ? GROUP_MODE : OWN_MODE, gid },
        clock,
        replaces: true,
        onConnection: (socket) => this.#door?.take(socket),
        onError: broker.acceptFailed,
        onMovedAside: (message) => log.warn('allocation.moved-aside', message),
      });
      if (this.#isStopping) {
        void listener.close();
        return;
      }
      listener.publish();
      void this.#listener?.close();
      this.#listener = listener;
      degraded(undefined);
    } catch (failure) {
      degraded(`devices cannot be asked for on ${path}: ${(failure as Error).message}`);
    }
    if (!this.#isStopping) this.#look = clock.alarm(settings.discovery.rescanMs, () => void this.#lookAtSocket());
  }

  /** Somebody may have removed it. */
  async #lookAtSocket(): Promise<void> {
    const { clock, live } = this.#parts;
    const { settings } = live.current;
    if (this.#isStopping) return;
    if (this.#listener?.isInPlace() === true) {
      this.#look = clock.alarm(settings.discovery.rescanMs, () => void this.#lookAtSocket());
    } else await this.#bind();
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
      devices: found === undefined ? undefined : this.#devicesOf(resource, found.holding.raw),
      plugin: calls === undefined ? undefined : { isPreferredAvailable, ...calls },
    };
  }

  #devicesOf(resource: string, raw: Buffer): readonly Device[] {
    const known = this.#decoded.get(resource);
    if (known?.raw === raw) return known.devices;
    const devices = devicesOf(raw);
    this.#decoded.delete(resource);
    if (devices.length > DECODED_DEVICES) return devices;
    this.#decoded.set(resource, { raw, devices });
    for (const oldest of this.#decoded.keys()) {
      if (this.#decoded.size <= DECODED_LISTS) break;
      this.#decoded.delete(oldest);
    }
    return devices;
  }
}

/** Undefined where none is named. @throws Error when there is none of that name */
function groupOf(group: string): number | undefined {
  if (group === '') return undefined;
  const gid = /^[0-9]{1,10}$/.test(group) ? Number(group) : groupId(group);
  if (gid === undefined) {
    throw new Error(`/etc/group has no group ${group}: make it, or name another one in allocator.group`);
  }
  return gid;
}
