// The ping-pong door: a plugin calls Register, is admitted, dialled back and asked, and answered once (contract 2).
import { withDeadline, type Clock } from '../kernel/clock.js';
import { DEVICE_PLUGIN, type Caller } from '../model/ids.js';
import type { Outcome } from '../model/plugin.js';
import { Refused, type Refusal } from '../model/reasons.js';
import type { Enrol, RegisterCall } from './ports.js';

/** Calls that may wait at the same time; further ones are told to come back. */
const MAX_WAITING = 2048;

/** What the door needs. */
export interface RegisterDoorPorts {
  readonly enrol: Enrol;
  readonly clock: Clock;
  /** The one budget of a call, in milliseconds. */
  readonly budgetMs: () => number;
  /** Whether the broker takes registrations; otherwise why not. */
  readonly closedBecause: () => Refusal | undefined;
}

/** Serves v1beta1.Registration/Register. */
export class RegisterDoor {
  readonly #ports: RegisterDoorPorts;
  #waiting = 0;

  constructor(ports: RegisterDoorPorts) {
    this.#ports = ports;
  }

  /** Calls being worked on now. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Answers one call within its budget. Never rejects.
   *
   * @param hangup aborts when the caller has gone; the registration is finished all the same
   */
  async register(call: RegisterCall, caller: Caller | undefined): Promise<Outcome> {
    const closed = this.#ports.closedBecause();
    if (closed !== undefined) return { ok: false, refusal: closed };
    if (this.#waiting >= MAX_WAITING) {
      return {
        ok: false,
        refusal: {
          code: 'BUSY',
          message: `${call.resourceName}: ${String(MAX_WAITING)} registrations are waiting already`,
          retryAfterMs: 1000,
        },
      };
    }
    this.#waiting += 1;
    const budget = this.#ports.budgetMs();
    const late = (): Refused =>
      new Refused({
        code: 'NO_ANSWER',
        message: `${call.resourceName} at ${call.endpoint}: the call back was not answered within the ${String(budget)} ms of timeouts.register`,
      });
    try {
      return await withDeadline(this.#ports.clock, budget, late, (signal) =>
        this.#ports.enrol(
          {
            door: 'register',
            pulled: false,
            type: DEVICE_PLUGIN,
            name: call.resourceName,
            versions: [call.version],
            endpoint: call.endpoint,
            ...(caller === undefined ? {} : { caller }),
          },
          signal,
        ),
      );
    } catch (failure) {
      return { ok: false, refusal: failure instanceof Refused ? failure.refusal : late().refusal };
    } finally {
      this.#waiting -= 1;
    }
  }
}
