// The peer at the other end of a connection, found once for each: whose turns and whose share of the room its requests take.
import type { Sharer } from '../../kernel/user-shares.js';
import { strangerUser, type UserFacts } from '../../model/ids.js';
import { ipv6Groups, plainAddress } from '../peer/ip-address.js';

/** Every user of this machine has all of these addresses, so that they are one peer where the user is not known. */
const LOCAL = 'local';
/** `::1`. */
const LOOPBACK = '0:0:0:0:0:0:0:1';
/** Groups of an IPv6 address that identify a network: the owner of one address in it has them all. */
const NETWORK_GROUPS = 4;

/** A peer of the server. */
export interface HttpPeer {
  /** Its name: a user of this machine, or the owner of an address. Peers take turns by it. */
  readonly name: string;
  /**
   * In whose share it counts. Whoever has no process here, as on another machine, is `unknown`: there may be any number of addresses.
   * Where the kernel cannot be asked there are no shares: they would keep root out of the most of the room.
   */
  readonly sharer: Sharer;
}

/**
 * The peer of a connection.
 *
 * @param address as its socket has it
 * @param uid of the process here that has the other end open, `nobody`, or undefined: the kernel cannot be asked
 */
export function peerOf(address: string, uid: number | 'nobody' | undefined, users: UserFacts): HttpPeer {
  if (typeof uid === 'number') return { name: `user ${String(users.userOf(uid))}`, sharer: strangerUser(uid, users) };
  return { name: ownerOf(address), sharer: uid === 'nobody' ? 'unknown' : undefined };
}

/** One name for all addresses that belong together. */
export function ownerOf(address: string): string {
  const plain = plainAddress(address);
  const groups = plain.includes(':') ? ipv6Groups(plain) : undefined;
  if (groups?.join(':') === LOOPBACK || plain.startsWith('127.')) return LOCAL;
  return groups?.slice(0, NETWORK_GROUPS).join(':') ?? plain;
}
