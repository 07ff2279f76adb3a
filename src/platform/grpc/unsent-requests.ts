// Requests of ours that have not left. A plugin may take none of their octets (no flow-control window, no further concurrent call,
// a socket that nobody reads), and then they wait in the memory of the broker. A user may have hundreds of plugins with several
// connections each, and a request may be as long as the list of a plugin: so what waits is counted by user, on all connections.
import { strangerUser, type UserFacts } from '../../model/ids.js';

/** The octets that wait for the plugins of one user; a single request is always sent, however long the configuration lets it be. */
const USER_BYTES = 16 * 1024 * 1024;
/** The octets that wait for the plugins of all users. */
const ALL_BYTES = 4 * USER_BYTES;
/** The octets that may wait for the plugins of one user when all have too many waiting: plugins that read have fewer. */
const FAIR_BYTES = 1024 * 1024;
/** Requests up to this length are always sent: those that ask whether a plugin lives have no octets at all. */
const SMALL_BYTES = 1024;

/** A connection on which requests wait: PluginLink (platform/grpc/plugin-link). */
interface Sender {
  /** Octets that wait now, on the connection and before it. */
  readonly unsentBytes: number;
}

/** Counts requests that have not left. */
export class UnsentRequests {
  readonly #facts: UserFacts;
  readonly #users = new Map<number, Set<Sender>>();

  /** @param facts tell the ordinary users apart, whose plugins are counted */
  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /**
   * Counts what waits on a connection from now on.
   *
   * @param uid of the owner of the socket
   * @returns to be called when the connection has ended
   */
  follow(uid: number, sender: Sender): () => void {
    const user = strangerUser(uid, this.#facts);
    if (user === undefined) return () => undefined;
    const senders = this.#users.get(user) ?? new Set();
    this.#users.set(user, senders);
    senders.add(sender);
    return () => {
      senders.delete(sender);
      if (senders.size === 0 && this.#users.get(user) === senders) this.#users.delete(user);
    };
  }

  /**
   * Whether a further request may wait to leave.
   *
   * @param uid of the owner of the socket
   * @param bytes of the request
   * @returns undefined where it may; else why it may not, as a sentence
   */
  refusal(uid: number, bytes: number): string | undefined {
    const user = strangerUser(uid, this.#facts);
    if (user === undefined || bytes <= SMALL_BYTES) return undefined;
    const own = waitingOn(this.#users.get(user) ?? []);
    if (own === 0 || own + bytes <= FAIR_BYTES) return undefined;
    const who = `the plugins of uid ${String(user)} have not taken ${String(own)} bytes of requests`;
    if (own + bytes > USER_BYTES) return `${who}, and ${String(USER_BYTES)} may wait`;
    const all = [...this.#users.values()].reduce((sum, senders) => sum + waitingOn(senders), 0);
    if (all + bytes <= ALL_BYTES) return undefined;
    return `${who}, those of all users ${String(all)}, and ${String(ALL_BYTES)} may wait`;
  }
}

function waitingOn(senders: Iterable<Sender>): number {
  let bytes = 0;
  for (const { unsentBytes } of senders) bytes += unsentBytes;
  return bytes;
}
