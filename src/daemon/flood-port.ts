// What admission, sessions and doors ask of the flood policy.
import type { FloodGate } from '../flood/flood-gate.js';
import type { BrokerParts } from './broker.js';

/**
 * The policy as the broker asks it.
 *
 * @param flood the gate; asked for at each question, because it is made after the port
 * @param ownUid counts for plugins whose uid is not known
 */
export function floodPort(flood: () => FloodGate, ownUid: number): BrokerParts['flood'] {
  return {
    quarantined: (subject) => flood().quarantined(subject),
    registration: (subject) => flood().registration(subject),
    openPacer: ({ type, name, policy, caller, socket }) => {
      const session = { type, name, uid: caller?.uid ?? ownUid, socket: socket.path, caller };
      return flood().openUpdates(session, policy);
    },
    connection: (caller) => {
      const verdict = flood().connections.admit(caller);
      return verdict.ok ? verdict : { ok: false, code: verdict.code, message: verdict.sentence };
    },
  };
}
