// The question before a device that a pod may have is given again: does that pod still have it? The kubelet is asked with Get,
// which changes nothing in it.
import { asError, sleep, type Clock } from '../kernel/clock.js';
import type { Until } from '../kernel/until.js';
import type { FailedCall } from '../model/failed-call.js';
import { GRPC_STATUS } from '../model/reasons.js';
import type { DeviceOwner } from './pods.js';
import type { PodHolding, PodResources } from './ports.js';

/** An Allocate waits so long for all pods together. */
const GETS_MS = 1000;
/** All callers of PodResources share one limit of the kubelet: one that is over it is asked again after so long. */
const AGAIN_MS = 50;

/** The ports of these questions. */
export interface DoubleUsePorts {
  readonly podResources: Pick<PodResources, 'get'>;
  readonly clock: Clock;
  /**
   * The kubelet was asked for one pod before a device is given again: why it did not say, or nothing. FrontNews
   * (front/front-news) reports it.
   */
  readonly confirmed: (problem: string | undefined) => void;
}

/** Asks the kubelet. */
export class DoubleUse {
  readonly #ports: DoubleUsePorts;
  readonly #untilHalt: Until;

  /** @param untilHalt ends calls under way with the front */
  constructor(ports: DoubleUsePorts, untilHalt: Until) {
    this.#ports = ports;
    this.#untilHalt = untilHalt;
  }

  /** See FrontOwners.takenBy. @param known the owners of the resource's devices by device id, as the kubelet named them last */
  async of(
    resource: string,
    ids: readonly string[],
    known: ReadonlyMap<string, DeviceOwner>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const asked = new Set<string>();
    const wanted = new Set(ids);
    const { clock } = this.#ports;
    const until = clock.mono() + GETS_MS;
    for (const id of ids) {
      const owner = known.get(id);
      if (owner === undefined || asked.has(podName(owner))) continue;
      asked.add(podName(owner));
      if (clock.mono() >= until) return undefined; // not confirmed: not refused
      const holdings = await this.#untilHalt.or(signal, (both) => this.#holdings(owner, until, both));
      const held = holdings?.find((one) => one.resource === resource && one.ids.some((each) => wanted.has(each)));
      if (held === undefined) continue;
      const device = held.ids.find((each) => wanted.has(each)) ?? id;
      return `device ${JSON.stringify(device)} is in use by pod ${podName(owner)}, and the kubelet asked for it again`;
    }
    return undefined;
  }

  /** Undefined where the pod is gone, and where the kubelet does not say: a device is refused only when its use is confirmed. */
  async #holdings(
    { namespace, pod }: DeviceOwner,
    until: number,
    signal: AbortSignal,
  ): Promise<readonly PodHolding[] | undefined> {
    const { podResources, clock, confirmed } = this.#ports;
    for (;;) {
      try {
        const holdings = await podResources.get(namespace, pod, until - clock.mono(), signal);
        confirmed(undefined);
        return holdings;
      } catch (failure) {
        const isBusy = (failure as FailedCall).status === GRPC_STATUS.RESOURCE_EXHAUSTED;
        if (!isBusy || clock.mono() + AGAIN_MS >= until) {
          if (!signal.aborted) confirmed(asError(failure).message);
          return undefined;
        }
        await sleep(clock, AGAIN_MS, signal).catch(() => undefined);
        if (signal.aborted) return undefined;
      }
    }
  }
}

/** A pod as `kubectl` names it, which tells pods apart, too. */
export function podName({ namespace, pod }: Pick<DeviceOwner, 'namespace' | 'pod'>): string {
  return `${namespace}/${pod}`;
}
