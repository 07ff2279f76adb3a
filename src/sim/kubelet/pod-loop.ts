// How pods come up. Admission is one thread for all pods, asks plugins without a deadline, and its refusal is final
// (kubernetes: pkg/kubelet/kubelet.go, HandlePodAdditions; pkg/kubelet/lifecycle/predicate.go;
// pkg/kubelet/cm/devicemanager/manager.go, Allocate). The start of a container is tried again and again, each pod by itself
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer; GetDeviceRunContainerOptions).
import { setTimeout as pause } from 'node:timers/promises';
import type { SimFacts } from '../sim-log.js';
import { Inadmissible, type DeviceManager } from './device-manager.js';
import type { ContainerAnswer } from './plugin-client.js';
import type { PluginClients } from './plugin-clients.js';
import { nameOf, type Container, type NodePods, type Pod } from './pods.js';

/** The ports of the loop. */
export interface PodLoopPorts {
  readonly devices: DeviceManager;
  readonly clients: PluginClients;
  readonly pods: NodePods;
  readonly say: (event: string, facts: SimFacts) => void;
  /** Writes the checkpoint. */
  readonly saved: () => void;
  readonly startRetryMs: number;
  readonly signal: AbortSignal;
}

/** Admits pods one after the other, and starts their containers side by side. */
export class PodLoop {
  readonly #ports: PodLoopPorts;
  #turn: Promise<void>;

  /** @param opens when the first pod is looked at */
  constructor(ports: PodLoopPorts, opens: Promise<void>) {
    this.#ports = ports;
    this.#turn = opens;
  }

  /** Puts a pod into the line. */
  add(pod: Pod): void {
    const queuedAt = performance.now();
    this.#turn = this.#turn.then(async () => {
      if (!this.#ports.signal.aborted && this.#isCurrent(pod)) await this.#admit(pod, queuedAt);
    });
  }

  /** A container ended: it is started again with the devices that it has. */
  restart(pod: Pod, container: Container): void {
    container.state = 'waiting';
    this.#ports.pods.save();
    void this.#start(pod, container);
  }

  async #admit(pod: Pod, queuedAt: number): Promise<void> {
    const { pods, say } = this.#ports;
    const waitedMs = Math.round(performance.now() - queuedAt);
    const startedAt = performance.now();
    try {
      for (const container of pod.containers) await this.#allocateAll(pod, container);
    } catch (failure) {
      pod.phase = 'Failed';
      pod.message = `Pod was rejected: Allocate failed due to ${(failure as Error).message}, which is unexpected`;
      for (const container of pod.containers) container.state = 'waiting';
      pods.save();
      const tookMs = Math.round(performance.now() - startedAt);
      say('rejected', { pod: nameOf(pod), reason: 'UnexpectedAdmissionError', message: pod.message, waitedMs, tookMs });
      return;
    }
    say('admitted', { pod: nameOf(pod), waitedMs, tookMs: Math.round(performance.now() - startedAt) });
    for (const container of pod.containers) if (container.state === 'waiting') void this.#start(pod, container);
  }

  async #allocateAll(pod: Pod, container: Container): Promise<void> {
    const { devices } = this.#ports;
    for (const [resource, count] of Object.entries(container.limits)) {
      // A resource that no plugin ever offered is no business of the device manager: the container starts without it.
      if (!devices.isDeviceResource(resource)) continue;
      devices.collect(this.#ports.pods.active());
      await this.#allocate(pod, container, resource, count);
    }
  }

  async #allocate({ uid: podUid }: Pod, container: Container, resource: string, count: number): Promise<void> {
    const { devices, clients, saved } = this.#ports;
    const want = { podUid, container: container.name, resource, count, isRunning: container.state === 'running' };
    const free = devices.choosable(want);
    if (free === undefined) return;
    const endpoint = clients.endpoint(resource);
    if (endpoint === undefined) throw new Inadmissible(`unknown device plugin ${resource}`);
    const { client, options } = endpoint;
    const preferred = options.getPreferredAllocationAvailable ? await client.preferred(free, count) : [];
    const ids = [...new Set([...preferred.filter((id) => free.includes(id)), ...free])].slice(0, count);
    devices.mark(resource, ids);
    let answer: ContainerAnswer;
    try {
      answer = await client.allocate(ids);
    } catch (failure) {
      devices.unmark();
      throw failure;
    }
    devices.give({ podUid, container: container.name, resource, ids, answer });
    saved();
  }

  /** Until it runs, the pod is gone, or the kubelet ends. */
  async #start(pod: Pod, container: Container): Promise<void> {
    const { devices, pods, say, signal, startRetryMs } = this.#ports;
    const startedAt = performance.now();
    while (this.#isWanted(pod)) {
      const given = devices.ofContainer(pod.uid, container.name);
      try {
        for (const { resource, ids } of given) await this.#preStart(resource, ids);
      } catch (failure) {
        const { message } = failure as Error;
        say('container-waiting', {
          pod: nameOf(pod),
          container: container.name,
          reason: 'CreateContainerConfigError',
          message,
        });
        await pause(startRetryMs, undefined, { signal }).catch(() => undefined);
        continue;
      }
      if (!this.#isWanted(pod)) return;
      container.state = 'running';
      if (pod.containers.every((one) => one.state === 'running')) pod.phase = 'Running';
      pods.save();
      // Of two resources that set one variable, one wins.
      const envs = Object.assign({}, ...given.map(({ answer }) => (answer as ContainerAnswer).envs ?? {})) as object;
      say('container-started', {
        pod: nameOf(pod),
        container: container.name,
        devices: Object.fromEntries(given.map(({ resource, ids }) => [resource, ids])),
        envs,
        waitedMs: Math.round(performance.now() - startedAt),
      });
      return;
    }
  }

  async #preStart(resource: string, ids: readonly string[]): Promise<void> {
    // A plugin of the checkpoint that has not come back has no options: it is not asked.
    const endpoint = this.#ports.clients.endpoint(resource);
    if (endpoint?.options.preStartRequired === true) await endpoint.client.preStart(ids);
  }

  #isWanted(pod: Pod): boolean {
    return !this.#ports.signal.aborted && this.#isCurrent(pod) && pod.phase !== 'Failed';
  }

  #isCurrent(pod: Pod): boolean {
    return this.#ports.pods.get(nameOf(pod)) === pod;
  }
}
