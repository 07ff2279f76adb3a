// The resources that an earlier life of the broker offered to the pods of a kubelet, by the sockets that it left in that
// kubelet's directory: they stay until `front uninstall`. Which devices pods have is known in memory only, so a socket is all
// that a new life knows of pods before the kubelet has named them.
import path from 'node:path';
import type { PodOwner } from '../../front/pods.js';
import type { Clock } from '../../kernel/clock.js';
import { ifPossible } from '../../kernel/if-possible.js';
import { answers } from '../grpc/unix-listener.js';
import { withFolder } from './front-folder.js';
import { FRONT_FOLDER, FRONT_SOCKET, kubeletPaths, namesOf } from './front-paths.js';

/** Those resources, as they were when this life began. */
export class FrontedBefore {
  readonly #parent: string;
  #sockets: ReadonlySet<string> = new Set();

  /** @param kubeletDir such as /var/lib/kubelet */
  constructor(kubeletDir: string) {
    this.#parent = kubeletPaths(kubeletDir).devicePlugins;
  }

  /**
   * Reads the names, before sockets of this life are added. A directory that may not be read has none of ours. Never rejects.
   *
   * @param clock given where no front stands here: a socket that somebody serves is another broker's then
   */
  async read(clock: Clock | undefined): Promise<void> {
    const found = new Set(this.#present() ?? []);
    if (clock !== undefined) {
      for (const name of found) {
        if (await answers(path.join(this.#parent, FRONT_FOLDER, name), clock)) found.delete(name);
      }
    }
    this.#sockets = found;
  }

  /** Looks which of them are still there. @returns whether any has gone */
  look(): boolean {
    if (this.#sockets.size === 0) return false;
    const present = this.#present();
    if (present === undefined) return false; // it may be there
    const left = new Set(present.filter((name) => this.#sockets.has(name)));
    const isFewer = left.size < this.#sockets.size;
    this.#sockets = left;
    return isFewer;
  }

  /** Whether a resource is one of them. */
  has(resource: string): boolean {
    return this.#sockets.size > 0 && this.#sockets.has(namesOf(resource).socket);
  }

  /** Pods, and how many devices they have, for leases where no front stands: none is known. */
  readonly pods = (): readonly PodOwner[] => [];
  readonly heldOf = (): number => 0;

  /** For consumers where no front stands: the broker does not ask the kubelet, so an operator has to say that no pod has any. */
  unsure(resource: string): string | undefined {
    if (!this.has(resource)) return undefined;
    return 'its pods have ended, which the broker does not see while front.enabled is false, and you have run plugin-broker front uninstall';
  }

  /** Undefined when they cannot be read. */
  #present(): string[] | undefined {
    return ifPossible(() => withFolder(this.#parent, (folder) => folder.sockets(FRONT_SOCKET)) ?? []);
  }
}
