// How `explain` speaks of leases: with the names of their owners to operators, and without them to everybody else.
import type { BrokerEvent } from '../model/event.js';
import type { HolderView } from '../model/views.js';

/** The words for leases: WITH_NAMES here, OVER_HTTP (page/over-http) there. */
export interface LeaseWords {
  /** The subject of a sentence about a holder of devices. */
  readonly holder: (holder: HolderView) => string;
  /** The event as it is told. */
  readonly event: (event: BrokerEvent) => BrokerEvent;
}

/** Everything, for operators. */
export const WITH_NAMES: LeaseWords = {
  holder: ({ lease, owner, uid }) => (uid === undefined ? owner : `${owner} (uid ${String(uid)}, lease ${lease})`),
  event: (event) => event,
};
