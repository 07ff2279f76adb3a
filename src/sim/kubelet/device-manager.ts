// A kubelet's record of devices, and of the pods that have them. Pure. The rules are those of the kubelet's own device manager
// (kubernetes: pkg/kubelet/cm/devicemanager/manager.go and pod_devices.go): healthy and unhealthy ids by resource, a set of ids
// in use that is rebuilt from the pods now and then, and the order of checks before an allocation. Topology hints, init
// containers and reuse between containers are not modelled.

/** One device of a list. */
export interface ListedDevice {
  readonly id: string;
  readonly isHealthy: boolean;
}

/** A container's devices of one resource. */
export interface PodDevices {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  /** The plugin's answer, as it came. */
  readonly answer: object;
}

/** The node's report of one resource. */
export interface NodeResource {
  readonly capacity: number;
  readonly allocatable: number;
}

/** A container's request: the resource and the number of devices. */
export interface Want {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly count: number;
  /** The container runs already and this is a restart of the kubelet. */
  readonly isRunning: boolean;
}

/** A pod cannot be admitted; the sentence is part of its status. */
export class Inadmissible extends Error {
  override readonly name = 'Inadmissible';
}

interface Known {
  healthy: ReadonlySet<string>;
  unhealthy: ReadonlySet<string>;
  /** Milliseconds on the caller's clock; undefined while its plugin is connected. */
  stoppedAt: number | undefined;
}

/** No ids. */
const NONE: ReadonlySet<string> = Object.freeze(new Set<string>());

/** Devices by resource, and which pods have them. */
export class DeviceManager {
  readonly #known = new Map<string, Known>();
  readonly #given = new Map<string, PodDevices>();
  #inUse = new Map<string, Set<string>>();

  /** A plugin connected: its devices count from its first list on. */
  connected(resource: string): void {
    const known = this.#known.get(resource);
    if (known === undefined) return; // enters with the first list
    known.stoppedAt = undefined;
  }

  /** A list arrived: it replaces the one before. */
  listed(resource: string, devices: readonly ListedDevice[]): void {
    const healthy = new Set(devices.filter((one) => one.isHealthy).map((one) => one.id));
    const unhealthy = new Set(devices.filter((one) => !one.isHealthy).map((one) => one.id));
    this.#known.set(resource, { healthy, unhealthy, stoppedAt: undefined });
  }

  /** The plugin is gone: capacity stays for a while, nothing is healthy (markResourceUnhealthy). */
  disconnected(resource: string, now: number): void {
    const known = this.#known.get(resource);
    if (known === undefined) return;
    known.unhealthy = new Set([...known.unhealthy, ...known.healthy]);
    known.healthy = NONE;
    known.stoppedAt = now;
  }

  /** Resources of the checkpoint are known without a device until their plugins are back (readCheckpoint). */
  restore(resources: readonly string[], given: readonly PodDevices[], now: number): void {
    for (const resource of resources) this.#known.set(resource, { healthy: NONE, unhealthy: NONE, stoppedAt: now });
    for (const one of given) this.#given.set(keyOf(one), one);
    this.#inUse = this.#rebuilt();
  }

  /** The node's report; a resource gone for longer than the grace is forgotten (GetCapacity). */
  capacity(now: number, graceMs: number): Map<string, NodeResource> {
    const all = new Map<string, NodeResource>();
    for (const [resource, { healthy, unhealthy, stoppedAt }] of this.#known) {
      if (stoppedAt !== undefined && now - stoppedAt > graceMs) this.#known.delete(resource);
      else all.set(resource, { capacity: healthy.size + unhealthy.size, allocatable: healthy.size });
    }
    return all;
  }

  /** Whether this is a resource of device plugins at all; others are not allocated. */
  isDeviceResource(resource: string): boolean {
    return this.#known.has(resource) || this.#inUse.has(resource);
  }

  /**
   * Which ids may be chosen for a container (devicesToAllocate).
   *
   * @returns undefined when it has its devices already, and the plugin need not be asked
   * @throws Inadmissible
   */
  choosable({ podUid, container, resource, count, isRunning }: Want): readonly string[] | undefined {
    const had = this.#given.get(keyOf({ podUid, container, resource }))?.ids;
    if (had !== undefined && had.length !== count) {
      throw new Inadmissible(
        `container ${container} asked for ${String(had.length)} of ${resource} before and asks for ${String(count)} now`,
      );
    }
    if (isRunning) return undefined;
    const healthy = this.#known.get(resource)?.healthy;
    if (healthy === undefined) throw new Inadmissible(`cannot allocate unregistered device ${resource}`);
    if (healthy.size === 0) {
      throw new Inadmissible(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    }
    if (had !== undefined) {
      if (had.every((id) => healthy.has(id))) return undefined;
      throw new Inadmissible(
        `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`,
      );
    }
    const inUse = this.#inUse.get(resource) ?? NONE;
    const free = [...healthy].filter((id) => !inUse.has(id));
    if (free.length < count) {
      throw new Inadmissible(
        `requested number of devices unavailable for ${resource}. Requested: ${String(count)}, Available: ${String(free.length)}`,
      );
    }
    return free;
  }

  /** Marks ids as in use while the plugin is asked. */
  mark(resource: string, ids: readonly string[]): void {
    const inUse = this.#inUse.get(resource) ?? new Set();
    for (const id of ids) inUse.add(id);
    this.#inUse.set(resource, inUse);
  }

  /** The plugin answered. Only the pod's own record is made: a mark that was lost meanwhile stays lost, as in the kubelet. */
  give(devices: PodDevices): void {
    this.#given.set(keyOf(devices), devices);
  }

  /** The plugin refused: only devices of pods are in use. */
  unmark(): void {
    this.#inUse = this.#rebuilt();
  }

  /**
   * Forgets the devices of ended pods and rebuilds the set in use (UpdateAllocatedDevices). It knows nothing of calls under way:
   * ids that are being asked for look free afterwards. Only when a pod has ended, as in the kubelet.
   */
  collect(activePods: ReadonlySet<string>): void {
    const ended = [...this.#given].filter(([, { podUid }]) => !activePods.has(podUid));
    if (ended.length === 0) return;
    for (const [key] of ended) this.#given.delete(key);
    this.#inUse = this.#rebuilt();
  }

  /** A container's devices. */
  ofContainer(podUid: string, container: string): PodDevices[] {
    return [...this.#given.values()].filter((one) => one.podUid === podUid && one.container === container);
  }

  /** Everything that pods have, and all resources that are known. */
  snapshot(): { readonly given: readonly PodDevices[]; readonly registered: ReadonlyMap<string, readonly string[]> } {
    const registered = new Map([...this.#known].map(([resource, { healthy }]) => [resource, [...healthy]]));
    return { given: [...this.#given.values()], registered };
  }

  #rebuilt(): Map<string, Set<string>> {
    const inUse = new Map<string, Set<string>>();
    for (const { resource, ids } of this.#given.values()) {
      const set = inUse.get(resource) ?? new Set();
      for (const id of ids) set.add(id);
      inUse.set(resource, set);
    }
    return inUse;
  }
}

function keyOf({ podUid, container, resource }: Pick<PodDevices, 'podUid' | 'container' | 'resource'>): string {
  return JSON.stringify([podUid, container, resource]);
}
