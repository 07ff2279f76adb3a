// The pacers of all sessions that are open.
import type { PacedEnrolment } from '../model/flood.js';
import type { PolicySource } from '../model/settings.js';
import { UpdatePacer, type PacerPorts } from './update-pacer.js';

/** Opens pacers, and brings a new policy to those that are open. */
export class Pacers {
  readonly #ports: PacerPorts;
  readonly #ownUid: number;
  readonly #open = new Set<UpdatePacer>();

  /** @param ownUid counts for plugins whose uid is not known */
  constructor(ports: Omit<PacerPorts, 'closed'>, ownUid: number) {
    this.#ports = { ...ports, closed: (pacer) => void this.#open.delete(pacer) };
    this.#ownUid = ownUid;
  }

  /** The pace of one session's lists; closed with the session. */
  open({ type, name, policy, caller, socket }: PacedEnrolment): UpdatePacer {
    const uid = caller?.uid ?? this.#ownUid;
    const pacer = new UpdatePacer({ type, name, uid, socket: socket.path, caller }, policy, this.#ports);
    this.#open.add(pacer);
    return pacer;
  }

  /** Those that are open. */
  all(): UpdatePacer[] {
    return [...this.#open];
  }

  /** Goes on under another policy. */
  reload(policy: PolicySource): void {
    for (const pacer of this.#open) {
      const { type, name, socket } = pacer.session;
      pacer.reload(policy.policyFor(type, name, socket));
    }
  }

  /** Closes all. */
  close(): void {
    for (const pacer of this.all()) pacer.close();
  }
}
