// The broker in front of a kubelet: gives the front its resources, its sockets and its kubelet.
import type { ResourceUse } from '../admin/plugin-views.js';
import type { LiveConfig } from '../config/live-config.js';
import { Front } from '../front/front.js';
import { Owners, type DeviceOwner } from '../front/owners.js';
import { podOwners, type PodOwner } from '../front/pods.js';
import type { FrontedResources, FrontOptions, ResourceNow } from '../front/ports.js';
import { resourcesOf } from '../inventory/resources.js';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { Holding, ListListener } from '../model/device-list.js';
import type { EventSink } from '../model/event.js';
import type { FrontState, FrontView } from '../model/front.js';
import { DEVICE_PLUGIN, pluginKey } from '../model/ids.js';
import type { Change, Instance, RosterListener } from '../model/instance.js';
import { ownerText } from '../model/lease.js';
import { NO_FRONT, timeText, type FrontShown } from '../model/views.js';
import { FrontDoor } from '../platform/kubelet/front-door.js';
import { kubeletPaths } from '../platform/kubelet/front-paths.js';
import { KubeletPlace } from '../platform/kubelet/front-places.js';
import { KubeletSocket } from '../platform/kubelet/kubelet-socket.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { podResourcesClient } from '../platform/kubelet/pod-resources-client.js';
import { frontWire } from '../platform/wire/front-wire.js';
import type { Consumer } from '../model/settings.js';
import type { Core } from './core.js';
import type { Leases } from './leases.js';

/** The kubelet dials us back before it answers Register, for up to ten seconds. */
const REGISTER_MS = 15_000;

/** What it is made of. */
export interface FrontLineParts {
  readonly live: LiveConfig;
  readonly core: Core;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly events: EventSink;
  readonly metrics: Metrics;
  readonly leases: Pick<Leases, 'consumers' | 'allocations' | 'changed' | 'besides'>;
  /** What connections that we open are guarded with. */
  readonly guarding: Guarding;
}

/** The front and everything that it stands on. */
export class FrontLine implements RosterListener, ListListener {
  readonly #parts: FrontLineParts;
  readonly #front: Front;
  readonly #owners: Owners;
  readonly #door: FrontDoor;
  readonly #kubelet: KubeletSocket;
  /** With whom each resource was when it was looked at last. */
  readonly #consumers = new Map<string, Consumer>();
  #ownersProblem: string | undefined;

  constructor(parts: FrontLineParts) {
    this.#parts = parts;
    const { live, clock, random, log, metrics, guarding } = parts;
    const { front, timeouts, guard } = live.settings;
    const paths = kubeletPaths(front.kubeletDir);
    this.#door = new FrontDoor({
      clock,
      guard: () => guard,
      ended: (resource, { code, message }) =>
        log.warn('front.connection-ended', `a connection of the kubelet to ${resource} was ended: ${message}`, {
          code,
        }),
    });
    this.#kubelet = new KubeletSocket(paths.socket, {
      clock,
      guarding,
      limitMs: REGISTER_MS,
      changed: () => this.#front.kubeletChanged(),
      unwatched: (why) => {
        if (why !== undefined) log.warn('front.unwatched', why);
      },
    });
    this.#owners = new Owners({
      podResources: podResourcesClient(paths.podResources, guarding),
      clock,
      changed: (resource) => {
        this.#front.changed(resource);
        this.#lookAtConsumers();
      },
      usable: (resources) => this.#front.kubeletHas(resources),
      asked: (problem) => this.#ownersAsked(problem),
    });
    const maxEntries = (): number => live.admission.maxPlugins;
    this.#front = new Front({
      resources: this.#resources(),
      owners: this.#owners,
      wire: frontWire,
      kubelet: this.#kubelet,
      openPlace: (resource, service) =>
        new KubeletPlace(resource, service, { paths, clock, take: this.#door.take, maxEntries }),
      clock,
      random,
      limits: () => ({
        holdMs: front.holdMs,
        allocateMs: timeouts.allocateMs,
        preferredMs: timeouts.preferredMs,
        preStartMs: timeouts.preStartMs,
      }),
      usesRegistry: front.doors === 'both',
      speculate: front.speculate,
      speculateForMs: front.speculateForMs,
      maxResources: maxEntries,
      changed: (resource, view) => this.#told(resource, view),
      called: (method, result) => metrics.frontCall(method, result),
      gateWaited: (seconds) => metrics.frontGate(seconds),
    });
    parts.leases.besides(this);
  }

  /** Begins, once what the checkpoint knows was put back. */
  open(): void {
    this.#kubelet.open();
    this.#owners.open();
    this.#front.open();
    const { live, leases } = this.#parts;
    live.onChange(() => this.#lookAtConsumers());
    leases.allocations.onChange(() => this.#lookAtConsumers());
  }

  /** Finishes calls, then lets the kubelet go. Plugins must still be reachable. */
  async close(): Promise<void> {
    this.#owners.close();
    await this.#front.close();
    this.#kubelet.close();
    this.#door.close();
  }

  changed({ instance }: Change): void {
    if (instance.type === DEVICE_PLUGIN) this.#front.changed(instance.name);
  }

  removed(instance: Instance): void {
    if (instance.type === DEVICE_PLUGIN) this.#front.changed(instance.name);
  }

  listApplied({ resource }: Holding): void {
    this.#front.changed(resource);
  }

  /** How a resource stands towards the kubelet; undefined when it is not fronted. */
  shown(resource: string): FrontShown | undefined {
    const view = this.#front.view(resource);
    return view === undefined ? undefined : { ...view, since: timeText(view.since) };
  }

  /** Resources by state. */
  states(): ReadonlyMap<FrontState, number> {
    return this.#front.states();
  }

  /** Whether the kubelet waits for an Allocate of ours. */
  get isAllocating(): boolean {
    return this.#owners.isAllocating;
  }

  /** Which pods have devices of a resource, by device. */
  ownersOf(resource: string): ReadonlyMap<string, DeviceOwner> {
    return this.#owners.of(resource);
  }

  /** Containers of pods that have devices; with a resource only those that have some of it. */
  pods(resource: string): readonly PodOwner[] {
    return podOwners(this.#owners.all(), resource);
  }

  #resources(): FrontedResources {
    const { core } = this.#parts;
    return {
      names: () => {
        const names = new Set([...core.inventory.all()].map(({ resource }) => resource));
        return [...names].filter((name) => this.#isTheirs(name));
      },
      now: (name) => this.#now(name),
      call: (instanceId, method, request, limitMs, signal) =>
        core.devicePlugins.callsOf(instanceId)?.call(method, request, limitMs, signal),
      isAlive: (instanceId, signal) => core.devicePlugins.isAlive(instanceId, signal),
    };
  }

  #isTheirs(name: string): boolean {
    const { live, leases } = this.#parts;
    return live.current.isFronted(name) && leases.consumers.of(name) === 'kubelet';
  }

  /** Whose a resource is may change with the configuration, and when the last lease or pod that has some of it ends. */
  #lookAtConsumers(): void {
    const { core, leases } = this.#parts;
    for (const { resource } of core.inventory.all()) {
      const consumer = leases.consumers.of(resource);
      if (this.#consumers.get(resource) === consumer) continue;
      this.#consumers.set(resource, consumer);
      this.#front.changed(resource);
      leases.changed();
    }
  }

  #now(name: string): ResourceNow | undefined {
    if (!this.#isTheirs(name)) return undefined;
    const { roster, inventory } = this.#parts.core;
    const holdings = roster.ofPlugin(DEVICE_PLUGIN, name).flatMap(({ id }) => inventory.holding(id) ?? []);
    const resource = resourcesOf(holdings, (id) => roster.get(id)).get(name);
    const instance = resource === undefined ? undefined : roster.get(resource.owner.id);
    if (resource === undefined || instance === undefined) return undefined;
    const { raw, devices, healthy } = resource.holding;
    const { id, state, reason, isHint, isConfirmed, facts } = instance;
    const options = optionsOf(facts);
    return { instanceId: id, state, reason, isHint, isConfirmed, list: raw, devices, healthy, options };
  }

  #told(resource: string, { state, reason }: FrontView): void {
    const { events, log } = this.#parts;
    const message = `${resource} towards the kubelet: ${state}${reason === '' ? '' : `, ${reason}`}`;
    events.record({ type: 'front', plugin: pluginKey({ type: DEVICE_PLUGIN, name: resource }), message });
    const isBad = state === 'refused' || state === 'too-large';
    if (isBad) log.warn('front.state', message, { resource, state });
    else log.info('front.state', message, { resource, state });
  }

  #ownersAsked(problem: string | undefined): void {
    if ((problem === undefined) === (this.#ownersProblem === undefined)) return;
    this.#ownersProblem = problem;
    const { log } = this.#parts;
    if (problem === undefined) log.info('front.owners', 'the kubelet says which pods have which devices');
    else log.warn('front.owners', `the kubelet does not say which pods have which devices: ${problem}`);
  }
}

/** What becomes of devices, for views. */
export function resourceUse(
  { consumers, allocations }: Pick<Leases, 'consumers' | 'allocations'>,
  front: FrontLine | undefined,
): ResourceUse {
  return {
    takenOf: (name) => {
      const taken = new Map<string, { readonly lease: string; readonly owner: string }>();
      for (const [device, { namespace, pod, container }] of front?.ownersOf(name) ?? []) {
        taken.set(device, { lease: '', owner: ownerText({ namespace, name: pod, part: container }) });
      }
      for (const [device, { id, owner }] of allocations.allocatedOf(name))
        taken.set(device, { lease: id, owner: ownerText(owner) });
      return taken;
    },
    consumerOf: (name) => consumers.of(name),
    front: (name) => {
      const shown = front?.shown(name) ?? NO_FRONT;
      const why = consumers.why(name);
      return why === '' ? shown : { ...shown, reason: why };
    },
  };
}

/** What the plugin answered when it was asked for its options, as the checkpoint keeps it. */
function optionsOf({ preStartRequired, preferredAllocationAvailable }: Instance['facts']): FrontOptions {
  return {
    preStartRequired: preStartRequired === true,
    preferredAllocationAvailable: preferredAllocationAvailable === true,
  };
}
