// The resources for the pods of the kubelet: the instance that speaks for each of them, and the calls to its plugin.
import { optionsOf, type DeviceMethod, type DevicePlugins, type ServedResources } from '../model/device-use.js';
import type { FrontedResources, ResourceNow } from './ports.js';

/** The sources of resources. */
export interface KubeletResourcesPorts {
  readonly resources: ServedResources;
  readonly plugins: DevicePlugins;
  /** Whether the settings offer it to the kubelet, and its devices are for pods now. */
  readonly isTheirs: (resource: string) => boolean;
}

/** The resources as the front uses them. */
export class KubeletResources implements FrontedResources {
  readonly #ports: KubeletResourcesPorts;

  constructor(ports: KubeletResourcesPorts) {
    this.#ports = ports;
  }

  names(): string[] {
    const { resources, isTheirs } = this.#ports;
    return [...resources.names()].filter(isTheirs);
  }

  now(resource: string): ResourceNow | undefined {
    if (!this.#ports.isTheirs(resource)) return undefined;
    const served = this.#ports.resources.of(resource);
    if (served?.list === undefined) return undefined;
    const { id, state, reason, isHint, isConfirmed, facts } = served.instance;
    const { raw, devices, healthy } = served.list;
    return {
      instanceId: id,
      state,
      reason,
      isHint,
      isConfirmed,
      devices,
      healthy,
      list: raw,
      options: optionsOf(facts),
    };
  }

  call(
    instanceId: string,
    method: DeviceMethod,
    request: Buffer,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Buffer> | undefined {
    return this.#ports.plugins.callsOf(instanceId)?.call(method, request, limitMs, signal);
  }

  isAlive(instanceId: string, signal: AbortSignal): Promise<boolean> {
    return this.#ports.plugins.isAlive(instanceId, signal);
  }
}
