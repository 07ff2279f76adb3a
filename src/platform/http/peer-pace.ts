// The pace of requests of one peer: a few at once, then one each interval; further ones wait for their turn. And a pace of all,
// since there may be any number of peers.
import { Paces } from '../../kernel/paces.js';
import { ipv6Groups, plainAddress } from '../peer/ip-address.js';

/** How many requests at once, and how many milliseconds until there may be one more. */
const OF_ONE = { burst: 40, intervalMs: 50 };
const OF_ALL = { burst: 80, intervalMs: 25 };
/** Every user of this machine has all of these addresses, so that they are one peer where the user is not known. */
const LOCAL = 'local';
/** Groups of an IPv6 address that identify a network: the owner of one address in it has them all. */
const NETWORK_GROUPS = 4;

/** A turn that was taken. */
export interface Turn {
  /** In how many milliseconds it comes; 0 is now. */
  readonly waitMs: number;
  /** The client that took it went away before it came. */
  readonly giveBack: () => void;
}

/** The pace of each peer, and of all. Pure: the time comes in. */
export class PeerPace {
  readonly #peers = new Paces<string>(OF_ONE);
  readonly #all = new Paces<'all'>(OF_ALL);

  /** Takes a turn. @param peer from `peerOf` */
  take(peer: string, now: number): Turn {
    const turns = [this.#peers.book(peer, now), this.#all.book('all', now)];
    return {
      waitMs: Math.max(...turns.map(({ waitMs }) => waitMs)),
      giveBack: () => turns.forEach(({ giveBack }) => giveBack()),
    };
  }
}

/**
 * The peer at the other end of a connection: a user of this machine, or the owner of an address, where addresses that belong together
 * are one peer.
 *
 * @param address as the socket has it
 * @param user of this machine, where it is known
 */
export function peerOf(address: string, user?: number): string {
  if (user !== undefined) return `user ${String(user)}`;
  const plain = plainAddress(address);
  if (plain === '::1' || plain.startsWith('127.')) return LOCAL;
  return plain.includes(':') ? ipv6Groups(plain).slice(0, NETWORK_GROUPS).join(':') : plain;
}
