// The ping-pong door: a plugin calls Register, is admitted, dialled back and asked, and answered once.
import { withDeadline, type Clock } from '../kernel/clock.js';
import { cut } from '../kernel/cut.js';
import { DEVICE_PLUGIN, type Caller } from '../model/ids.js';
import type { Outcome, RegistrationRequest } from '../model/plugin.js';
import { Refused, type Refusal } from '../model/reasons.js';
import type { Timeouts } from '../model/settings.js';
import { LONGEST_TEXT, type Enroller, type RegisterCall, type RegisterService } from '../model/registration.js';

/** Calls that may wait at the same time; further ones are told to come back. */
const MAX_WAITING = 2048;

/** The ports of the door. */
export interface RegisterDoorPorts {
  readonly enrolments: Enroller;
  readonly clock: Clock;
  /** `register` is the one budget of a call. */
  readonly timeouts: Pick<Timeouts, 'registerMs'>;
}

/** Serves v1beta1.Registration/Register. */
export class RegisterDoor implements RegisterService {
  readonly #ports: RegisterDoorPorts;
  #waiting = 0;
  #closed: Refusal | undefined;

  constructor(ports: RegisterDoorPorts) {
    this.#ports = ports;
  }

  /** Takes no more calls: each is refused with this. */
  close(because: Refusal): void {
    this.#closed = because;
  }

  /** Calls being worked on now. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Answers one call within its budget, also where the caller has gone. Never rejects.
   */
  async register(given: RegisterCall, caller: Caller | undefined): Promise<Outcome> {
    const call: RegisterCall = {
      version: cut(given.version, LONGEST_TEXT),
      endpoint: cut(given.endpoint, LONGEST_TEXT),
      resourceName: cut(given.resourceName, LONGEST_TEXT),
    };
    const request: RegistrationRequest = {
      door: 'register',
      pulled: false,
      type: DEVICE_PLUGIN,
      name: call.resourceName,
      versions: [call.version],
      endpoint: call.endpoint,
      ...(caller === undefined ? {} : { caller }),
    };
    const refusal = this.#closed ?? this.#busy(call);
    if (refusal !== undefined) {
      this.#ports.enrolments.refuse(request, refusal);
      return { ok: false, refusal };
    }
    this.#waiting += 1;
    const budget = this.#ports.timeouts.registerMs;
    const late = (): Refused =>
      new Refused({
        code: 'NO_ANSWER',
        message: `${call.resourceName} at ${call.endpoint}: the call back was not answered within the ${String(budget)} ms of timeouts.register`,
      });
    try {
      return await withDeadline(this.#ports.clock, budget, late, (signal) =>
        this.#ports.enrolments.enrol(request, signal),
      );
    } catch (failure) {
      return { ok: false, refusal: failure instanceof Refused ? failure.refusal : late().refusal };
    } finally {
      this.#waiting -= 1;
    }
  }

  #busy({ resourceName }: RegisterCall): Refusal | undefined {
    if (this.#waiting < MAX_WAITING) return undefined;
    const message = `${resourceName}: ${String(MAX_WAITING)} registrations are waiting already`;
    return { code: 'BUSY', message, retryAfterMs: 1000 };
  }
}
