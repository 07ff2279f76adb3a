// The address in a sockaddr of the kernel (ip(7), ipv6(7)), as text. Pure.
import { endianness } from 'node:os';

/** A sockaddr_in6, the larger of the two. */
export const SOCKADDR_BYTES = 28;
const AF_INET = 2;
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
