// Where known instances are now: whether the very socket that registered is still at its path, and whether it listens.
import { incarnationKey, mayListen, type Listener } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import type { EndpointSource, PinnedSocket } from '../model/plugin.js';
import type { Roster } from './roster.js';

/** The sockets on disk: `pluginSide` (platform/peer/plugin-side). */
export interface EndpointPorts {
  pin(path: string): PinnedSocket | { readonly problem: string };
  /** The key of the incarnation at a path now. */
  keyAt(path: string): string | undefined;
  listenerOf(socket: PinnedSocket): Listener;
}

/** Looks at the endpoints of instances. */
export class Endpoints implements EndpointSource {
  readonly #ports: EndpointPorts;
  readonly #roster: Pick<Roster, 'get'>;

  constructor(ports: EndpointPorts, roster: Pick<Roster, 'get'>) {
    this.#ports = ports;
    this.#roster = roster;
  }

  /** Whether somebody listens on the very endpoint of an instance. */
  isListening(instance: Instance): boolean {
    const pinned = this.#pinAgain(instance);
    if (pinned === undefined) return false;
    const found = this.#ports.listenerOf(pinned);
    pinned.release();
    return mayListen(found);
  }

  /**
   * For asking an incumbent without a session; the caller releases it. An instance kept out by a quarantine or by the removal of
   * its socket is no incumbent.
   */
  forAsking(instanceId: string): PinnedSocket | undefined {
    const instance = this.#roster.get(instanceId);
    if (instance === undefined || instance.state === 'quarantined' || instance.reason === 'socket-removed') {
      return undefined;
    }
    return instance.enrolment?.endpoint.retain() ?? this.#pinAgain(instance);
  }

  /** The endpoint as it is at its path now, when it is the very incarnation that is known. The caller releases it. */
  #pinAgain({ endpointPath: file, endpointKey }: Instance): PinnedSocket | undefined {
    // Most often it is not, because the file has gone: known without an exception for each.
    if (this.#ports.keyAt(file) !== endpointKey) return undefined;
    const pinned = this.#ports.pin(file);
    if ('problem' in pinned) return undefined;
    if (incarnationKey(pinned.incarnation) === endpointKey) return pinned;
    pinned.release();
    return undefined;
  }
}
