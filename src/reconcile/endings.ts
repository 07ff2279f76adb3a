// Ends instances: closes the session, drops the lists, cancels the pending registration and takes back `isServing`.
import { isReplaced, type Instance } from '../model/instance.js';
import type { PluginHandler } from '../model/plugin.js';
import type { Reason, StateReason } from '../model/reasons.js';
import { afterReplacement, mayFallBackTo, surplusFallbacks } from './consequences.js';
import type { Endpoints } from './endpoints.js';
import type { Reconciler } from './reconciler.js';
import type { Roster } from './roster.js';

/** The ports of endings. */
export interface EndingPorts {
  readonly roster: Roster;
  readonly reconciler: Pick<Reconciler, 'unwant'>;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** Drops lists that do not count any more: Inventory (inventory/inventory). */
  readonly lists: { drop(instanceId: string): void };
  readonly endpoints: Pick<Endpoints, 'isListening'>;
}

/** Closes and replaces instances, and keeps a few predecessors as fallback. */
export class Endings {
  readonly #ports: EndingPorts;

  constructor(ports: EndingPorts) {
    this.#ports = ports;
  }

  /** Has the handler deregister an instance; nothing is dialled. */
  endSession({ id, type }: Pick<Instance, 'id' | 'type'>, reason: Reason): void {
    void this.#ports.handlers
      .get(type)
      ?.deregister(id, reason)
      .catch(() => undefined);
  }

  /** Closes an instance for good, with a reason. */
  close({ id }: Instance, reason: StateReason, message: string): void {
    this.#ports.roster.report(id, { state: 'gone', reason, message });
  }

  /** Lets go of an instance that is replaced; while it listens it is kept as fallback, and the oldest one too many is closed. */
  retire(instance: Instance): void {
    const { roster, reconciler, lists, endpoints } = this.#ports;
    this.endSession(instance, 'replaced');
    reconciler.unwant(instance.id);
    lists.drop(instance.id);
    instance.isServing = false;
    const report = afterReplacement(mayFallBackTo(instance) && endpoints.isListening(instance));
    roster.report(instance.id, report);
    const fallbacks = roster.ofPlugin(instance.type, instance.name).filter(isReplaced);
    for (const surplus of surplusFallbacks(fallbacks)) this.close(surplus, 'replaced', report.message);
  }
}
