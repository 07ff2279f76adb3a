import type { Random } from '../../../src/kernel/random.js';
import { seededRandom } from '../seeded-random.js';
import { Answers } from '../../../src/platform/http2/answers.js';
import { Calls } from '../../../src/platform/http2/calls.js';
import { PeerFault } from '../../../src/platform/http2/fault.js';
import { encodeFrame, encodeGoaway, encodeHeaders, FLAG, FRAME, PREFACE } from '../../../src/platform/http2/frames.js';
import { Guard } from '../../../src/platform/http2/guard.js';
import { HpackDecoder } from '../../../src/platform/http2/hpack-decoder.js';
import type { HeaderField } from '../../../src/platform/http2/hpack-field.js';
import { Inbound } from '../../../src/platform/http2/inbound.js';
import { Outbound } from '../../../src/platform/http2/outbound.js';
import { guardSettings } from './guard-settings.js';
import { HpackClient, type Pair } from './hpack-client.js';
import { MirrorServer } from './mirror-server.js';
import { message, number32, settings } from './raw-peer.js';

const pick = <T>(random: Random, choices: readonly T[]): T => choices[Math.floor(random.next() * choices.length)]!;
const upTo = (random: Random, most: number): number => Math.floor(random.next() * (most + 1));
const noise = (random: Random, most: number): Buffer =>
  Buffer.from(Array.from({ length: upTo(random, most) }, () => upTo(random, 255)));

/** The frames of an honest client, with the liberties it may take. */
export function honestClient(random: Random): Buffer[] {
  const hpack = new HpackClient(random);
  const parts: Buffer[] = [PREFACE, settings([4, upTo(random, 200_000)])];
  const calls = 1 + upTo(random, 3);
  for (let stream = 1; stream < 2 * calls; stream += 2) {
    const fields: Pair[] = [
      [':method', 'POST'],
      [':path', '/t.Echo/Unary'],
      ['content-type', 'application/grpc'],
    ];
    const authority = pick(random, ['localhost', '/run/raw.sock', '', 'a b', undefined]);
    if (authority !== undefined) fields.splice(2, 0, [':authority', authority]);
    if (random.next() < 0.3) fields.push(['x', 'y'.repeat(upTo(random, 300))]);
    const block = hpack.block(fields);
    const cut = upTo(random, block.length);
    if (random.next() < 0.7) parts.push(...encodeHeaders(0, stream, block));
    else {
      const padded = Buffer.concat([Buffer.from([2]), block.subarray(0, cut), Buffer.alloc(2)]);
      parts.push(encodeFrame(FRAME.HEADERS, FLAG.PADDED, stream, padded));
      parts.push(encodeFrame(FRAME.CONTINUATION, FLAG.END_HEADERS, stream, block.subarray(cut)));
    }
    parts.push(encodeFrame(FRAME.DATA, FLAG.END_STREAM, stream, message(Buffer.alloc(upTo(random, 200)))));
    if (random.next() < 0.2) parts.push(encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8)));
    if (random.next() < 0.2) parts.push(encodeFrame(FRAME.WINDOW_UPDATE, 0, stream, number32(upTo(random, 1000))));
    if (random.next() < 0.2) parts.push(encodeFrame(FRAME.SETTINGS, FLAG.ACK, 0, Buffer.alloc(0)));
    if (random.next() < 0.1) parts.push(encodeFrame(FRAME.RST_STREAM, 0, stream, number32(8)));
    if (random.next() < 0.1) parts.push(encodeFrame(FRAME.PRIORITY, 0, stream, Buffer.alloc(5)));
  }
  return parts;
}

/** The frames of an honest server. */
function honestServer(random: Random): Buffer[] {
  const parts = [settings([1, upTo(random, 6000)], [3, 128])];
  for (let stream = 1; stream < 10; stream += 2) {
    parts.push(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, Buffer.from([0x88])));
    parts.push(encodeFrame(FRAME.DATA, 0, stream, noise(random, 50)));
    parts.push(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, stream, Buffer.from([0x88])));
    if (random.next() < 0.2) parts.push(encodeFrame(FRAME.RST_STREAM, 0, stream, number32(upTo(random, 13))));
  }
  parts.push(encodeGoaway(9, upTo(random, 2), 'bye'));
  return parts;
}

/** Damages frames as a fuzzer does: single octets, lengths, whole frames lost, doubled, or out of order. */
export function mutate(random: Random, frames: readonly Buffer[]): Buffer {
  const parts = [...frames];
  for (let turns = upTo(random, 4); turns > 0; turns--) {
    const at = upTo(random, parts.length - 1);
    const part = parts[at] ?? Buffer.alloc(0);
    const copy = Buffer.from(part);
    const kind = upTo(random, 7);
    if (kind <= 2 && copy.length > 0) {
      // The heads of frames are where the meaning is.
      const place = kind === 0 ? upTo(random, Math.min(9, copy.length) - 1) : upTo(random, copy.length - 1);
      copy[place] = kind === 2 ? copy[place]! ^ (1 << upTo(random, 7)) : upTo(random, 255);
      parts[at] = copy;
    } else if (kind === 3) parts.splice(at, 1);
    else if (kind === 4) parts.splice(at, 0, part);
    else if (kind === 5) parts[at] = part.subarray(0, upTo(random, part.length));
    else if (kind === 6) parts.splice(at, 0, noise(random, 40));
    else parts.splice(upTo(random, parts.length), 0, ...parts.splice(at, 1));
    if (parts.length === 0) parts.push(PREFACE);
  }
  return Buffer.concat(parts);
}

/** Cuts octets into pieces as a socket might deliver them. */
export function pieces(random: Random, bytes: Buffer): Buffer[] {
  const cut: Buffer[] = [];
  const most = pick(random, [1, 10, 100, 70_000]);
  for (let at = 0; at < bytes.length;) {
    const length = 1 + upTo(random, most);
    cut.push(bytes.subarray(at, at + length));
    at += length;
  }
  return cut;
}

/** Runs a step; returns whether the peer was found at fault. Anything else it throws is a bug. */
function isAtFault(step: () => void): boolean {
  try {
    step();
    return false;
  } catch (thrown) {
    if (thrown instanceof PeerFault) return true;
    throw thrown;
  }
}

function fuzzInbound(random: Random): void {
  const guard = new Guard(guardSettings, 0);
  const inbound = new Inbound(guardSettings, guard, new Calls(0));
  const server = new MirrorServer();
  const tableBytes = upTo(random, 6000);
  inbound.serverAnnounced({ headerTableBytes: tableBytes, maxFrameBytes: 16_384 });
  server.announced(tableBytes);
  for (const piece of pieces(random, mutate(random, honestClient(random)))) {
    let passed: Buffer = Buffer.alloc(0);
    const fault = isAtFault(() => {
      passed = inbound.take(piece, 0);
    });
    if (fault) return;
    // A server understands all that the border lets pass, or it is the server that is at odds with the RFC.
    server.take(passed);
  }
}

function fuzzOutbound(random: Random): void {
  const outbound = new Outbound(new Guard(guardSettings, 0), new Calls(0), () => undefined);
  for (const piece of pieces(random, mutate(random, honestServer(random)))) {
    if (isAtFault(() => outbound.see(piece, 0))) return;
  }
}

function fuzzAnswers(random: Random): void {
  const answers = new Answers(guardSettings, new Guard(guardSettings, 0));
  for (const stream of [1, 3, 5, 7, 9]) answers.opened(stream);
  let into = 0;
  let out = 0;
  for (const piece of pieces(random, mutate(random, honestServer(random)))) {
    if (random.next() < 0.05) answers.givenUp(2 * upTo(random, 4) + 1);
    const fault = isAtFault(() => {
      out += answers.take(piece, 0).length;
    });
    if (fault) return;
    into += piece.length;
    if (out > into) throw new Error(`${out} octets were made of ${into}`);
  }
}

function fuzzHpack(random: Random): void {
  const client = new HpackClient(random);
  const decoder = new HpackDecoder(guardSettings.headerBytes);
  for (let blocks = 1 + upTo(random, 4); blocks > 0; blocks--) {
    const honest = client.block([
      [':path', 'x'.repeat(upTo(random, 100))],
      ['te', pick(random, ['', 'trailers', '/'])],
      [`n${upTo(random, 5)}`, noise(random, 60).toString('latin1')],
    ]);
    const block = random.next() < 0.1 ? noise(random, 200) : mutate(random, [honest]);
    let fields: HeaderField[] = [];
    const fault = isAtFault(() => {
      fields = decoder.decode(block);
    });
    const { size, capacity } = decoder.table;
    if (size > capacity || capacity > 4096) throw new Error(`the table holds ${size} of ${capacity} octets`);
    if (fault) return;
    const bytes = fields.reduce((sum, field) => sum + field.size, 0);
    if (bytes > guardSettings.headerBytes) throw new Error(`a list of ${bytes} octets passed`);
  }
}

/** One damaged input, the same for the same seed. Throws when anything but a PeerFault comes of it. */
function fuzzOnce(seed: number): void {
  const random = seededRandom(seed);
  const kind = random.next();
  if (kind < 0.5) fuzzInbound(random);
  else if (kind < 0.65) fuzzAnswers(random);
  else if (kind < 0.9) fuzzHpack(random);
  else fuzzOutbound(random);
}

/** Many inputs. The error names the seed that repeats it. */
export function fuzzMany(firstSeed: number, inputs: number): void {
  for (let seed = firstSeed; seed < firstSeed + inputs; seed++) {
    try {
      fuzzOnce(seed);
    } catch (thrown) {
      throw new Error(`seed ${seed}`, { cause: thrown });
    }
  }
}
