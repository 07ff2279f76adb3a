// The consumer of a resource's devices: owners of leases, or pods of the kubelet. The configuration decides, and may change at
// any time; as long as one side holds devices the resource stays with it, because the other side does not know of them and would
// give them a second time.
import { Listeners } from '../kernel/listeners.js';
import { STAYS_WITH } from '../model/front.js';
import type { LeaseListener } from '../model/lease.js';
import type { Consumer } from '../model/settings.js';
import type { Offers } from './offers.js';
import type { ResourceRules } from './resource-rules.js';

/** Resources of which it is remembered whose they were: of a name that comes back later the first look tells once more. */
const MOST_SEEN = 4096;

/** `pods`: the kubelet's, and its pods may have more of it; `kubelet`: no lease may have it, and no further pod. */
type Side = Consumer | 'pods';

/** Hears of resources that moved from one side to the other: Changes (allocation/changes) and Front (front/front). */
export interface ConsumerListener {
  /** A resource is with another side than when it was looked at last. */
  consumerMoved(resource: string): void;
}

/** The ports of the consumers. */
export interface ConsumerPorts {
  /** The present configuration. */
  readonly rules: Pick<ResourceRules, 'consumerOf'>;
  /** Pods are not given answers of a plugin whose ordinary user no rule names. */
  readonly offers: Pick<Offers, 'strangerOf'>;
  /** Whether a lease, or a request that is being served, has a device of it: Ledger (allocation/ledger). */
  readonly ledger: { hasSome(resource: string): boolean };
  /** Owners (front/owners), or FrontedBefore (platform/kubelet/fronted-before) where the broker stands before no kubelet. */
  readonly pods: {
    /** How many devices of it pods have, as far as it is known. */
    heldOf(resource: string): number;
    /** Pods may have more than that: the end of a sentence with "until …", which says when it is known. Undefined: it is. */
    unsure(resource: string): string | undefined;
  };
  /** The resources that plugins offer: OfferedResources (inventory/offered). */
  readonly resources: { names(): Iterable<string> };
}

/** One consumer for each resource. */
export class Consumers {
  readonly listeners = new Listeners<ConsumerListener>();
  readonly #ports: ConsumerPorts;
  readonly #seen = new Map<string, Side>();

  constructor(ports: ConsumerPorts) {
    this.#ports = ports;
  }

  /** The consumer that has the devices now. */
  of(resource: string): Consumer {
    const side = this.#sideOf(resource);
    return side === 'pods' ? 'kubelet' : side;
  }

  /**
   * Why a resource that is for leases by the configuration is not with them yet: pods may have devices that nobody has named.
   *
   * @returns what is waited for, as the end of a sentence with "until …"; undefined: no such thing
   */
  unsure(resource: string): string | undefined {
    const { rules, pods } = this.#ports;
    return rules.consumerOf(resource) === 'kubelet' || pods.heldOf(resource) > 0 ? undefined : this.#unsure(resource);
  }

  /** The configuration was read again. */
  readonly reloaded = (): void => this.look(this.#ports.resources.names());

  /** A lease changed, or many did: the last one of a resource may have ended. */
  readonly leaseChanged: LeaseListener = (lease) =>
    this.look(lease?.granted.map(({ resource }) => resource) ?? this.#ports.resources.names());

  /** Other pods have devices of a resource, or none. */
  ownersChanged(resource: string): void {
    this.look([resource]);
  }

  /** It is known now which resources pods have devices of. */
  ownersKnown(): void {
    this.reloaded();
  }

  /** Works out the consumers of these resources again, and tells of those that moved. */
  look(resources: Iterable<string>): void {
    for (const resource of resources) {
      const side = this.#sideOf(resource);
      if (this.#seen.get(resource) === side) continue;
      this.#seen.delete(resource); // so that it comes last
      this.#seen.set(resource, side);
      for (const oldest of this.#seen.keys()) {
        if (this.#seen.size <= MOST_SEEN) break;
        this.#seen.delete(oldest);
      }
      this.listeners.tell((one) => one.consumerMoved(resource));
    }
  }

  /** Whether pods may be given the answer of its plugin: the resource is theirs, and the plugin is trusted. */
  isForPods(resource: string): boolean {
    return this.#sideOf(resource) === 'pods';
  }

  /** Says why a resource is not with the consumer that the configuration names; empty when it is. */
  why(resource: string): string {
    const wanted = this.#ports.rules.consumerOf(resource);
    const now = this.of(resource);
    const unsure = this.unsure(resource);
    if (unsure !== undefined) return `${STAYS_WITH} the kubelet until ${unsure}, and is for leases then`;
    const stranger = now === 'kubelet' ? this.#ports.offers.strangerOf(resource) : undefined;
    if (stranger !== undefined) {
      return `${STAYS_WITH} nobody until a rule names uid ${String(stranger)}, as which its plugin runs (rules[].uids)`;
    }
    if (now === wanted) return '';
    return wanted === 'kubelet'
      ? `${STAYS_WITH} owners of leases until those have ended, and goes to the kubelet then`
      : `${STAYS_WITH} the kubelet until the ${String(this.#ports.pods.heldOf(resource))} devices that pods have are free, and is for leases then`;
  }
  #sideOf(resource: string): Side {
    const { rules, ledger, pods, offers } = this.#ports;
    if (rules.consumerOf(resource) === 'kubelet') {
      if (ledger.hasSome(resource)) return 'local';
    } else if (pods.heldOf(resource) === 0) {
      // The kubelet is not told of it for the sake of a guess: a resource that comes and goes at each start draws pods.
      return this.#unsure(resource) === undefined ? 'local' : 'kubelet';
    }
    return offers.strangerOf(resource) === undefined ? 'pods' : 'kubelet';
  }

  /** A lease was given only when no pod had any, and no pod was given any since. */
  #unsure(resource: string): string | undefined {
    const { ledger, pods } = this.#ports;
    return ledger.hasSome(resource) ? undefined : pods.unsure(resource);
  }
}
