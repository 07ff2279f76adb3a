// Addresses as the kernel has them (sockaddr; ip(7), ipv6(7), unix(7), netlink(7)). Pure.
import { endianness } from 'node:os';

/** A sockaddr_in6, the larger of the two. */
export const SOCKADDR_BYTES = 28;
export const AF_UNIX = 1;
const AF_INET = 2;
export const AF_NETLINK = 16;
/** sockaddr_nl: the kernel's is zero behind the family. */
const NETLINK_ADDRESS_BYTES = 12;
/** sockaddr_un.sun_path, its closing NUL included. */
const SUN_PATH_BYTES = 108;
const [ADDRESS_IN, ADDRESS_IN6] = [4, 8];
/** What stands before an address of IPv4 in one of IPv6. */
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');

/** The address in a sockaddr_in or sockaddr_in6: as Node writes it, but for `::`, which stands for nothing here. */
export function addressIn(sockaddr: Buffer): string {
  const family = endianness() === 'LE' ? sockaddr.readUInt16LE(0) : sockaddr.readUInt16BE(0);
  if (family === AF_INET) return dotted(sockaddr, ADDRESS_IN);
  const rest = ADDRESS_IN6 + MAPPED.length;
  if (sockaddr.subarray(ADDRESS_IN6, rest).equals(MAPPED)) return `::ffff:${dotted(sockaddr, rest)}`;
  return Array.from({ length: 8 }, (_, group) => sockaddr.readUInt16BE(ADDRESS_IN6 + 2 * group).toString(16)).join(':');
}

function dotted(from: Buffer, at: number): string {
  return from.subarray(at, at + 4).join('.');
}

/** sockaddr_un of a path or an abstract name (`@name`); undefined where it does not fit. */
export function unixAddress(name: string): Buffer | undefined {
  const isAbstract = name.startsWith('@');
  const path = Buffer.from(isAbstract ? `\0${name.slice(1)}` : `${name}\0`);
  if (path.length > SUN_PATH_BYTES) return undefined;
  return addressOf(AF_UNIX, path);
}

function addressOf(family: number, rest: Buffer): Buffer {
  const address = Buffer.alloc(2 + rest.length);
  if (endianness() === 'LE') address.writeUInt16LE(family);
  else address.writeUInt16BE(family);
  rest.copy(address, 2);
  return address;
}

/** The sockaddr_nl of the kernel. */
export const KERNEL = addressOf(AF_NETLINK, Buffer.alloc(NETLINK_ADDRESS_BYTES - 2));
