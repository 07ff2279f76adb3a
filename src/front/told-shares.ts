// What the kubelet is told of resources of ordinary users, by user. The kubelet's List has an entry for each device that a pod has, is
// read up to 16 MiB for the owners of all resources, and is held here device by device: without a share one user's pods would make it
// too long for everybody.
import type { FrontOwners } from './ports.js';

/**
 * Octets that all resources of one ordinary user may have in the kubelet's answers (`FrontWire.octetsOf`, front/ports): a quarter of what
 * is read of one, some 10,000 devices with names as usual. Plugins of devices that are none list 1,000s (KubeVirt 1,000 of each of three).
 */
export const USER_OCTETS = 4 * 1024 * 1024;
/** And those of all ordinary users together: three quarters. */
const USERS_OCTETS = 12 * 1024 * 1024;

/** The part of one resource. */
interface Part {
  readonly user: number;
  readonly octets: number;
}

/** Counts them. What was told once counts until no pod has a device of the resource. */
export class ToldShares {
  readonly #owners: Pick<FrontOwners, 'isFree'>;
  readonly #freed: () => void;
  readonly #parts = new Map<string, Part>();
  /** Resources of which the kubelet is told nothing any more, and pods may have devices. */
  readonly #left = new Set<string>();
  readonly #ofUsers = new Map<number, number>();
  #ofAll = 0;

  /** @param freed there is more room than before: resources that found none may ask again. Front (front/front) */
  constructor(owners: Pick<FrontOwners, 'isFree'>, freed: () => void) {
    this.#owners = owners;
    this.#freed = freed;
  }

  /**
   * The kubelet is to be told a list instead of the one before.
   *
   * @param user the ordinary user whose plugin speaks for it; undefined: it is of root or the broker's user and has no share
   * @param octets of its entries in the kubelet's answers, devices that pods have included
   * @returns why not, in a sentence; undefined: it counts now
   */
  take(resource: string, user: number | undefined, octets: number): string | undefined {
    const before = this.#parts.get(resource);
    if (user !== undefined && !(before?.user === user && octets <= before.octets)) {
      const own = USER_OCTETS - (this.#ofUsers.get(user) ?? 0) + (before?.user === user ? before.octets : 0);
      const all = USERS_OCTETS - this.#ofAll + (before?.octets ?? 0);
      const left = Math.min(own, all);
      if (octets > left) {
        const whose = own <= all ? 'its user' : 'all users but root';
        return `its list may take ${String(octets)} bytes of the kubelet's answers about pods, and ${whose} may have ${String(left)} more: list fewer devices, or shorter ids (devices that pods have count as well)`;
      }
    }
    this.#left.delete(resource);
    this.#count(resource, user === undefined ? undefined : { user, octets });
    return undefined;
  }

  /** The kubelet is told nothing of it any more, or the owners of its devices changed since. */
  leave(resource: string): void {
    if (!this.#parts.has(resource)) return;
    if (!this.#owners.isFree(resource)) this.#left.add(resource);
    else {
      this.#left.delete(resource);
      this.#count(resource, undefined);
    }
  }

  /** All that pods have is known. */
  ownersKnown(): void {
    for (const resource of [...this.#left]) this.leave(resource);
  }

  #count(resource: string, part: Part | undefined): void {
    const before = this.#parts.get(resource);
    if (before !== undefined) this.#add(before.user, -before.octets);
    this.#parts.delete(resource);
    if (part !== undefined) {
      this.#parts.set(resource, part);
      this.#add(part.user, part.octets);
    }
    if (before !== undefined && (part?.user !== before.user || part.octets < before.octets)) this.#freed();
  }

  #add(user: number, octets: number): void {
    const sum = (this.#ofUsers.get(user) ?? 0) + octets;
    if (sum === 0) this.#ofUsers.delete(user);
    else this.#ofUsers.set(user, sum);
    this.#ofAll += octets;
  }
}
