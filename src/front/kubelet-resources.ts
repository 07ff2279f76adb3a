// The resources that are for the pods of the kubelet: the instance that speaks for each of them, and the calls to its plugin.
import { optionsOf, type DevicePlugins, type ServedResources } from '../model/device-use.js';
import { uidBehind } from '../model/instance.js';
import type { DeviceCall, FrontedResources, ResourceNow } from './ports.js';

/** The sources of resources. */
export interface KubeletResourcesPorts {
  readonly resources: ServedResources;
  readonly plugins: DevicePlugins;
  /** Whether the settings offer it to the kubelet: LiveConfig (config/live-config). */
  readonly live: { readonly current: { isFronted(name: string): boolean } };
  /** Whether its devices are for pods now: Consumers (allocation/consumers). */
  readonly consumers: { isForPods(resource: string): boolean };
}

/** The resources as the front uses them. */
export class KubeletResources implements FrontedResources {
  readonly #ports: KubeletResourcesPorts;

  constructor(ports: KubeletResourcesPorts) {
    this.#ports = ports;
  }

  names(): string[] {
    return [...this.#ports.resources.names()].filter((resource) => this.#isTheirs(resource));
  }

  now(resource: string): ResourceNow | undefined {
    if (!this.#isTheirs(resource)) return undefined;
    const served = this.#ports.resources.of(resource);
    if (served?.list === undefined) return undefined;
    const { instance } = served;
    const { id, state, reason, isHint, isConfirmed, facts } = instance;
    const { raw, devices, healthy } = served.list;
    const known = { uid: uidBehind(instance), state, reason, isHint, isConfirmed, devices, healthy };
    return { ...known, instanceId: id, list: raw, options: optionsOf(facts) };
  }

  call(instanceId: string, { method, request, limitMs }: DeviceCall, signal: AbortSignal): Promise<Buffer> | undefined {
    return this.#ports.plugins.callsOf(instanceId)?.call(method, request, limitMs, signal);
  }

  isAlive(instanceId: string, signal: AbortSignal): Promise<boolean> {
    return this.#ports.plugins.isAlive(instanceId, signal);
  }

  #isTheirs(resource: string): boolean {
    const { live, consumers } = this.#ports;
    return live.current.isFronted(resource) && consumers.isForPods(resource);
  }
}
