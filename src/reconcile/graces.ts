// The clocks of held instances: how long a lost plugin may come back before its resource is gone.
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Instance } from '../model/instance.js';
import { hasGrace } from './consequences.js';
import type { EndpointPorts } from './endpoints.js';

/** The ports of graces. */
export interface GracePorts {
  readonly clock: Clock;
  /** `grace` of its policy, milliseconds: Lifecycle (reconcile/lifecycle) reads it from `LiveConfig.policyFor`. */
  readonly graceMsOf: (instance: Instance) => number;
  readonly sockets: Pick<EndpointPorts, 'keyAt'>;
  /** Its grace is over: Lifecycle has it closed by `Endings.close` (reconcile/endings). */
  readonly over: (instance: Instance) => void;
}

/** One clock per instance that is held and timed. */
export class Graces {
  readonly #ports: GracePorts;
  readonly #running = new Map<string, { readonly alarm: Alarm; readonly endsAt: number }>();

  constructor(ports: GracePorts) {
    this.#ports = ports;
  }

  /** Starts the clock of an instance that is held now, lets it go on, or ends it. */
  follow(instance: Instance): void {
    const { id, socketPath, socketKey } = instance;
    if (!hasGrace(instance, () => this.#ports.sockets.keyAt(socketPath, socketKey) === socketKey)) {
      this.forget(id);
      return;
    }
    if (this.#running.has(id)) return;
    const graceMs = this.#ports.graceMsOf(instance);
    const alarm = this.#ports.clock.alarm(graceMs, () => {
      this.#running.delete(id);
      this.#ports.over(instance);
    });
    this.#running.set(id, { alarm, endsAt: this.#ports.clock.mono() + graceMs });
  }

  /** When the grace of an instance is over, epoch milliseconds; undefined where no clock runs. */
  endsAt(id: string): number | undefined {
    const { clock } = this.#ports;
    const running = this.#running.get(id);
    return running && clock.wall() + running.endsAt - clock.mono();
  }

  /** Ends the clock of an instance. */
  forget(id: string): void {
    this.#running.get(id)?.alarm.cancel();
    this.#running.delete(id);
  }

  /** Ends all clocks. */
  stop(): void {
    for (const { alarm } of this.#running.values()) alarm.cancel();
    this.#running.clear();
  }
}
