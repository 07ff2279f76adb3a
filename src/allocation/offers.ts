// The offer of a resource: the newest list of the instance that speaks for it, and the calls to its plugin.
import type { Device } from '../model/device.js';
import type { UserFacts } from '../model/ids.js';
import { optionsOf, type DevicePlugins, type ServedResources } from '../model/device-use.js';
import { strangerOf, type Instance } from '../model/instance.js';
import type { Offer } from './ports.js';
import type { ResourceRules } from './resource-rules.js';

/** The sources of offers. */
export interface OfferPorts extends UserFacts {
  readonly resources: Pick<ServedResources, 'of'>;
  readonly plugins: Pick<DevicePlugins, 'callsOf'>;
  readonly rules: Pick<ResourceRules, 'uidsOf'>;
  /** The devices of the newest list of a resource. DecodedLists (inventory/decoded-lists) has them. */
  readonly decoded: {
    of(resource: string, list: Buffer, sender: number | undefined): readonly Device[];
    prepare(resource: string, list: Buffer, sender: number | undefined): Promise<void> | undefined;
  };
}

/** Offers of all resources. */
export class Offers {
  readonly #ports: OfferPorts;

  constructor(ports: OfferPorts) {
    this.#ports = ports;
  }

  /** Undefined: nobody has ever offered it, or it is gone. */
  of(resource: string): Offer | undefined {
    const { resources, plugins, decoded } = this.#ports;
    const served = resources.of(resource);
    if (served === undefined) return undefined;
    const { instance, list } = served;
    const calls = plugins.callsOf(instance.id);
    const [stranger, user] = [this.#strangerOf(resource, instance), this.#userOf(resource, instance)];
    const isPreferredAvailable = optionsOf(instance.facts).preferredAllocationAvailable;
    return {
      isReady: list !== undefined && instance.state === 'ready',
      state: `${instance.state} (${instance.reason})`,
      instanceId: instance.id,
      stranger,
      listed: list?.devices ?? 0,
      // Read only for decisions about devices; most readers need the plugin alone.
      get devices(): readonly Device[] | undefined {
        return list === undefined ? undefined : decoded.of(resource, list.raw, user);
      },
      plugin: calls === undefined ? undefined : { isPreferredAvailable, ...calls },
    };
  }

  /** The uid of the plugin of a resource, where that is neither root nor the broker's user nor named by its rule. */
  strangerOf(resource: string): number | undefined {
    return this.#strangerOf(resource, this.#ports.resources.of(resource)?.instance);
  }

  /** Has the lists of resources at hand when it resolves; undefined when they are, or are short. */
  prepare(names: Iterable<string>): Promise<unknown> | undefined {
    const { resources, decoded } = this.#ports;
    const ready: Promise<void>[] = [];
    for (const name of names) {
      const { list, instance } = resources.of(name) ?? {};
      const prepared = list === undefined ? undefined : decoded.prepare(name, list.raw, this.#userOf(name, instance));
      if (prepared !== undefined) ready.push(prepared);
    }
    return ready.length === 0 ? undefined : Promise.all(ready);
  }

  /** The user of that uid. */
  #userOf(resource: string, instance: Instance | undefined): number | undefined {
    const stranger = this.#strangerOf(resource, instance);
    return stranger === undefined ? undefined : this.#ports.userOf(stranger);
  }

  #strangerOf(resource: string, instance: Instance | undefined): number | undefined {
    const { ownUid, rules } = this.#ports;
    const uid = strangerOf(instance, ownUid);
    return uid === undefined || rules.uidsOf(resource)?.includes(uid) === true ? undefined : uid;
  }
}
