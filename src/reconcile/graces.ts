// The clocks of held instances: how long a lost plugin may come back before its resource is gone.
import type { Alarm, Clock } from '../kernel/clock.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { Reason } from '../model/reasons.js';
import type { EndpointPorts } from './endpoints.js';
import { isReplaced, type Instance } from '../model/instance.js';

/** Drivers are held without a clock while only their service is away; these reasons start it for them, too. */
const ENDS_DRIVERS = new Set<Reason>(['socket-removed', 'not-answering', 'connection-lost']);

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
    const { id } = instance;
    const isTimed = instance.type === DEVICE_PLUGIN ? !isReplaced(instance) : this.#endsDriver(instance);
    if (instance.state !== 'held' || !isTimed) {
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

  /** A driver stays registered while its registration socket stands, even if a service does not answer. */
  #endsDriver({ reason, socketPath, socketKey }: Instance): boolean {
    return (
      reason === 'socket-removed' || (ENDS_DRIVERS.has(reason) && this.#ports.sockets.keyAt(socketPath) !== socketKey)
    );
  }
}
