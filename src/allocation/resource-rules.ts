// The present configuration of a resource. Rules may match the socket of the plugin that speaks for it; while no plugin does,
// no device of the resource is given, and waiting requests are judged as soon as one does.
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

  /** Its `allocate` policy: the users that may have its devices, and how many. */
  allocateOf(resource: string): AllocatePolicy {
    return this.#policy.policyFor(DEVICE_PLUGIN, resource, this.#socketOf(resource)).allocate;
  }

  /** The uids that are named for its plugin (rules[].uids). */
  uidsOf(resource: string): readonly number[] | undefined {
    return this.#policy.policyFor(DEVICE_PLUGIN, resource, this.#socketOf(resource)).uids;
  }

  /** The consumer that its devices are meant for. */
  consumerOf(resource: string): Consumer {
    return this.#policy.consumerOf(DEVICE_PLUGIN, resource, this.#socketOf(resource));
  }

  #socketOf(resource: string): string {
    return this.#resources.of(resource)?.instance.socketPath ?? '';
  }
}
