// Addresses as Node writes them. Pure.

/** An address without the prefix that IPv6 gives to one of IPv4: `127.0.0.1` for `::ffff:127.0.0.1`. */
export function plainAddress(text: string): string {
  return text.replace(/^::ffff:(?=[0-9]+\.)/, '');
}

/** The eight groups of an IPv6 address, hexadecimal as they stand there, and `0` for each that `::` leaves out. */
export function ipv6Groups(plain: string): readonly string[] {
  const [front = [], back = []] = plain.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const left = Math.max(0, 8 - front.length - back.length);
  return [...front, ...Array<string>(left).fill('0'), ...back].slice(0, 8);
}
