// The question to the kernel about one TCP socket of this machine, and its answer (sock_diag(7), linux/inet_diag.h). Pure.
import { endianness } from 'node:os';
import { ipv6Groups, plainAddress } from './ip-address.js';

const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
/** Offsets in a message; nlmsghdr has 16 bytes, and what follows begins with the family. */
const [TYPE, BODY] = [4, 16];
const [SOURCE_PORT, TARGET_PORT, SOURCE, TARGET, COOKIE] = [24, 26, 28, 44, 64];
const [UID, INODE] = [80, 84];
const [QUESTION_BYTES, ANSWER_BYTES] = [72, 88];
/** Where the address stands in a sockaddr_in, and in a sockaddr_in6. */
const [ADDRESS_IN, ADDRESS_IN6] = [
  [4, 8],
  [8, 24],
] as const;
const isLittle = endianness() === 'LE';

/** One end of a TCP connection. */
export interface TcpEnd {
  /** As Node writes it: `127.0.0.1`, `::1`, `::ffff:127.0.0.1`. */
  readonly address: string;
  readonly port: number;
}

/**
 * The question for the socket at one end of a connection.
 *
 * @param end the socket that is asked about
 * @param other the other end
 * @returns undefined where an address is none of an interface's own kind, as one with a zone
 */
export function inetDiagQuestion(end: TcpEnd, other: TcpEnd): Buffer | undefined {
  const [source, target] = [addressBytes(end.address), addressBytes(other.address)];
  if (source === undefined || source.length !== target?.length) return undefined;
  return questionOf(source.length === 4 ? AF_INET : AF_INET6, port(end.port), source, port(other.port), target);
}

/** The same for ends that the kernel named: `end` and `other` are a sockaddr_in or a sockaddr_in6 each, of one kind. */
export function inetDiagOf(end: Buffer, other: Buffer): Buffer {
  const family = read16(end, 0);
  const [from, to] = family === AF_INET ? ADDRESS_IN : ADDRESS_IN6;
  const [source, target] = [end.subarray(from, to), other.subarray(from, to)];
  return questionOf(family, end.subarray(2, 4), source, other.subarray(2, 4), target);
}

function questionOf(family: number, port: Buffer, source: Buffer, targetPort: Buffer, target: Buffer): Buffer {
  const question = Buffer.alloc(QUESTION_BYTES);
  write32(question, QUESTION_BYTES, 0);
  write16(question, SOCK_DIAG_BY_FAMILY, TYPE);
  write16(question, NLM_F_REQUEST, TYPE + 2);
  question[BODY] = family;
  question[BODY + 1] = IPPROTO_TCP;
  port.copy(question, SOURCE_PORT);
  targetPort.copy(question, TARGET_PORT);
  source.copy(question, SOURCE);
  target.copy(question, TARGET);
  question.fill(0xff, COOKIE); // whichever socket it is
  return question;
}

function port(number: number): Buffer {
  return Buffer.from([number >> 8, number & 0xff]);
}

/** The uid in an answer; `nobody`: no process of this machine has such a socket open. */
export function inetDiagUid(answer: Buffer): number | 'nobody' {
  if (answer.length < ANSWER_BYTES || read16(answer, TYPE) !== SOCK_DIAG_BY_FAMILY) return 'nobody';
  // Of a socket that was closed the kernel says 0 for both.
  return read32(answer, INODE) === 0 ? 'nobody' : read32(answer, UID);
}

function addressBytes(text: string): Buffer | undefined {
  const plain = plainAddress(text);
  if (!plain.includes(':')) {
    const bytes = plain.split('.').map(Number);
    return bytes.length === 4 ? Buffer.from(bytes) : undefined;
  }
  if (plain.includes('%')) return undefined;
  const bytes = Buffer.alloc(16);
  for (const [index, group] of ipv6Groups(plain).entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * index);
  return bytes;
}

function write16(to: Buffer, value: number, at: number): void {
  if (isLittle) to.writeUInt16LE(value, at);
  else to.writeUInt16BE(value, at);
}

function write32(to: Buffer, value: number, at: number): void {
  if (isLittle) to.writeUInt32LE(value, at);
  else to.writeUInt32BE(value, at);
}

function read16(from: Buffer, at: number): number {
  return isLittle ? from.readUInt16LE(at) : from.readUInt16BE(at);
}

function read32(from: Buffer, at: number): number {
  return isLittle ? from.readUInt32LE(at) : from.readUInt32BE(at);
}
