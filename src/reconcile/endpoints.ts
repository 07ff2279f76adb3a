// Where known instances are now: whether the very socket that registered is still at its path, and whether it listens.
import { incarnationKey, mayListen, UNANSWERED, type Listener } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import type { EndpointSource, PinnedSocket } from '../model/plugin.js';
import type { Roster } from './roster.js';

/** The sockets on disk: `pluginSide` (platform/peer/plugin-side). */
export interface EndpointPorts {
  pin(path: string): PinnedSocket | { readonly problem: string; readonly detail: string };
  /** The key of the incarnation at a path now. @param known where the directory does not answer */
  keyAt(path: string, known: string | undefined): string | undefined;
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

  /** Whether somebody listens on the very endpoint of an instance, or may, because its directory does not answer. */
  isListening(instance: Instance): boolean {
    const pinned = this.#pinAgain(instance);
    if (pinned === undefined || pinned === UNANSWERED) return pinned === UNANSWERED;
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
    const pinned = instance.enrolment?.endpoint.retain() ?? this.#pinAgain(instance);
    return pinned === UNANSWERED ? undefined : pinned;
  }

  /** The endpoint as it is at its path now, when it is the very incarnation that is known. The caller releases it. */
  #pinAgain({ endpointPath: file, endpointKey }: Instance): PinnedSocket | typeof UNANSWERED | undefined {
    // Most often it is not, because the file has gone: known without an exception for each.
    if (this.#ports.keyAt(file, endpointKey) !== endpointKey) return undefined;
    const pinned = this.#ports.pin(file);
    if ('problem' in pinned) return pinned.detail === UNANSWERED ? UNANSWERED : undefined;
    if (incarnationKey(pinned.incarnation) === endpointKey) return pinned;
    pinned.release();
    return undefined;
  }
}
