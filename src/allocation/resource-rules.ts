// What the configuration says now of a resource. Rules may go by the socket of the plugin that speaks for it; where none does,
// nothing of the resource is given, and whoever waits is judged when one does.
import type { ServedResources } from '../model/device-use.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { AllocatePolicy, Consumer, PluginPolicy } from '../model/settings.js';

/** The configuration in force, which can be reloaded. LiveConfig (config/live-config) has it. */
export interface RulePolicy {
  policyFor(type: string, name: string, socket: string): Pick<PluginPolicy, 'uids' | 'allocate'>;
  consumerOf(type: string, name: string, socket: string): Consumer;
}

/** Rules by resource. */
export class ResourceRules {
  readonly #resources: Pick<ServedResources, 'of'>;
  readonly #policy: RulePolicy;

  constructor(resources: Pick<ServedResources, 'of'>, policy: RulePolicy) {
    this.#resources = resources;
    this.#policy = policy;
  }

  /** Who is given what of it. */
  allocateOf(resource: string): AllocatePolicy {
    return this.#policy.policyFor(DEVICE_PLUGIN, resource, this.#socketOf(resource)).allocate;
  }

  /** The uids that are named for its plugin (rules[].uids). */
  uidsOf(resource: string): readonly number[] | undefined {
    return this.#policy.policyFor(DEVICE_PLUGIN, resource, this.#socketOf(resource)).uids;
  }

  /** For whom its devices are to be. */
  consumerOf(resource: string): Consumer {
    return this.#policy.consumerOf(DEVICE_PLUGIN, resource, this.#socketOf(resource));
  }

  #socketOf(resource: string): string {
    return this.#resources.of(resource)?.instance.socketPath ?? '';
  }
}
