// An operator's orders about plugins: close their incarnations, or drop the records of them.
import { isConnected, type Instance } from '../model/instance.js';
import type { Endings } from './endings.js';
import type { Roster } from './roster.js';

/** Acts on the roster for operators. */
export class OperatorActions {
  readonly #roster: Roster;
  readonly #endings: Endings;

  constructor(roster: Roster, endings: Endings) {
    this.#roster = roster;
    this.#endings = endings;
  }

  /** Closes every incarnation of a plugin that may be back. Returns them: the caller keeps them out. */
  closeAll(type: string, name: string): Instance[] {
    const closed = this.#roster.ofPlugin(type, name).filter(mayBeBack);
    for (const instance of closed) this.#endings.close(instance, 'deregistered', 'was closed by an operator');
    return closed;
  }

  /** Drops every entry of a plugin that is not connected. Returns how many there were. */
  forget(type: string, name: string): number {
    const instances = this.#roster.ofPlugin(type, name).filter((one) => !isConnected(one));
    for (const instance of instances) {
      if (isNotOver(instance)) this.#endings.close(instance, 'deregistered', 'was forgotten by an operator');
      this.#roster.remove(instance);
    }
    return instances.length;
  }
}

/** Its process may live on where its grace ended while it hung, and where it took leave and kept its socket. */
function mayBeBack(instance: Instance): boolean {
  const { state, reason } = instance;
  return isNotOver(instance) || (state === 'gone' && reason !== 'replaced' && reason !== 'deregistered');
}

function isNotOver({ state }: Instance): boolean {
  return state !== 'gone' && state !== 'rejected';
}
