// A plugin that let a call of the kubelet time out: nobody waits for it until it shows a sign of life.
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { FrontedResources } from './ports.js';

/** A plugin that let a call time out is asked for a sign of life this often. */
const PROBE_EVERY_MS = 1000;
/** And for the first time after so long, more from one time-out to the next: one that gives signs of life and no answers has all pods wait. */
const QUIET: BackoffBounds = { firstMs: PROBE_EVERY_MS, maxMs: 60_000 };
/** Time-outs are counted until there was none for so long. */
const FORGIVEN_MS = 300_000;

/** The ports, those of FrontCalls (front/calls). */
export interface SilentPluginPorts {
  readonly resource: string;
  readonly resources: Pick<FrontedResources, 'now' | 'isAlive'>;
  readonly clock: Clock;
}

/** The silent plugin of a resource, if there is one. */
export class SilentPlugin {
  readonly #ports: SilentPluginPorts;
  readonly #halt: AbortSignal;
  readonly #spoke: () => void;
  /** The instance that let a call time out, until it shows a sign of life. */
  #silent: string | undefined;
  /** Time-outs of the resource, and when the last one was. */
  #timeouts = 0;
  #timedOutAt = -Infinity;

  /** @param halt ends the looks for a sign of life @param spoke told when it may be asked again */
  constructor(ports: SilentPluginPorts, halt: AbortSignal, spoke: () => void) {
    this.#ports = ports;
    this.#halt = halt;
    this.#spoke = spoke;
  }

  /** From now on nobody waits for this instance, until it answers the cheapest of all calls. */
  fell(instanceId: string): void {
    if (this.#silent === instanceId) return;
    this.#silent = instanceId;
    const now = this.#ports.clock.mono();
    this.#timeouts = now - this.#timedOutAt < FORGIVEN_MS ? this.#timeouts + 1 : 1;
    this.#timedOutAt = now;
    void this.#probe(instanceId).catch(() => undefined); // ends with the front
  }

  /** A successor is asked at once, but not that of one that let calls time out before: whoever restarts all the time is no newcomer. */
  is(instanceId: string): boolean {
    return this.#silent === instanceId || (this.#silent !== undefined && this.#timeouts > 1);
  }

  async #probe(instanceId: string): Promise<void> {
    const { clock, resources, resource } = this.#ports;
    // Not at once: pods that stand behind the one whose call timed out are to be refused, not to wait in turn.
    let waitMs = backoffMs(this.#timeouts, QUIET, 1);
    do {
      await sleep(clock, waitMs, this.#halt);
      waitMs = PROBE_EVERY_MS;
      if (await resources.isAlive(instanceId, this.#halt)) break;
    } while (this.#silent === instanceId && resources.now(resource)?.instanceId === instanceId);
    if (this.#silent === instanceId) this.#silent = undefined;
    this.#spoke();
  }
}
