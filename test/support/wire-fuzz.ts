import { isDeepStrictEqual } from 'node:util';
import type { Random } from '../../src/kernel/random.js';
import { seededRandom } from './seeded-random.js';
import type { Device } from '../../src/model/device.js';
import { DeviceListReader, readDevices } from '../../src/platform/wire/device-list-reader.js';
import * as admin from '../../src/generated/proto/pluginbroker/v1/admin.js';
import * as csi from '../../src/generated/proto/csi/v1/csi.js';
import * as devicePlugin from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { ListAndWatchResponse } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import * as dra from '../../src/generated/proto/dra/v1/dra.js';
import * as registration from '../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { decodeRetryInfo, encodeRetryInfo } from '../../src/platform/wire/retry-info.js';
import type { Element, Field, Fields, Given, MessageType, Scalar } from '../../src/platform/wire/table.js';
import { WireError } from '../../src/platform/wire/wire-error.js';

type AnyMessage = MessageType<Fields>;

const isMessage = (value: unknown): value is AnyMessage =>
  typeof value === 'object' && value !== null && 'decode' in value && 'fields' in value;

/** Every message that the program reads or writes. */
const MESSAGES: readonly AnyMessage[] = [admin, csi, devicePlugin, dra, registration].flatMap((service) =>
  Object.values<unknown>({ ...service }).filter(isMessage),
);

/** Fewer than a fuzzed list may have, so that the cap is met as well. */
const MAX_DEVICES = 4;

const pick = <T>(random: Random, choices: readonly T[]): T => choices[Math.floor(random.next() * choices.length)] as T;
const upTo = (random: Random, most: number): number => Math.floor(random.next() * (most + 1));
const noise = (random: Random, most: number): Buffer =>
  Buffer.from(Array.from({ length: upTo(random, most) }, () => upTo(random, 255)));

/** Text as plugins send it, and names that are traps in JavaScript. */
const TEXTS = ['', 'v1beta1', 'Healthy', 'example.com/gpu', 'a', '__proto__', 'constructor', '\ufffd', '\u0000', 'é😀'];
const INTEGERS = [0, 1, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)];

const SCALARS: Readonly<Record<Scalar, (random: Random) => unknown>> = {
  string: (random) => (random.next() < 0.05 ? 'x'.repeat(upTo(random, 400)) : pick(random, TEXTS)),
  bytes: (random) => noise(random, 20),
  bool: (random) => random.next() < 0.5,
  int32: (random) => pick(random, INTEGERS),
  enum: (random) => pick(random, INTEGERS),
  uint32: (random) => pick(random, [0, 1, 2 ** 32 - 1]),
  int64: (random) => pick(random, [...INTEGERS, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]),
  uint64: (random) => pick(random, [0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER]),
  bigint: (random) => pick(random, [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]),
};

const valueOf = (random: Random, element: Element): unknown =>
  typeof element === 'string' ? SCALARS[element](random) : messageOf(random, element);

function fieldOf(random: Random, field: Field): unknown {
  const element = field.length === 3 ? field[2] : field[1];
  const label = field.length === 3 ? field[1] : 'plain';
  const some = (): number[] => Array.from({ length: upTo(random, 4) });
  if (label === 'repeated') return some().map(() => valueOf(random, element));
  if (label === 'map') return new Map(some().map(() => [pick(random, TEXTS), valueOf(random, element)]));
  return random.next() < 0.2 ? undefined : valueOf(random, element);
}

function messageOf(random: Random, { fields }: AnyMessage): Given<Fields> {
  const entries = Object.entries(fields).map(([key, field]) => [key, fieldOf(random, field)]);
  return Object.fromEntries(entries) as Given<Fields>;
}

/** A message as an honest sender encodes it. */
export function honestBytes(random: Random, type: AnyMessage): Buffer {
  return type.encode(messageOf(random, type));
}

/** Pitfalls of decoders: endless numbers, lengths beyond the end, groups, framings that do not exist, broken text. */
const TRAPS = [
  'ffffffffffffffffffff01',
  'ffffffffffffffffff01',
  'ffffffff0f',
  '8080808080808080808000',
  '0affffffff0f',
  '0a80808080808080808001',
  '0b0c',
  '0e',
  '0f',
  '00',
  '0a02c328',
  '0a03eda080',
  '0a04f4908080',
  '0a00',
  '120948656c6c6f',
].map((hex) => Buffer.from(hex, 'hex'));

/** Damages a message as a fuzzer does: bits, octets, and pieces that are lost, doubled, moved, or come from elsewhere. */
export function damaged(random: Random, honest: Buffer): Buffer {
  if (random.next() < 0.05) return noise(random, 300);
  let bytes = honest;
  for (let turns = 1 + upTo(random, 3); turns > 0; turns--) {
    const at = upTo(random, bytes.length);
    const to = Math.min(bytes.length, at + upTo(random, 16));
    const [before, piece, rest] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
    const changed = Buffer.from(piece);
    const first = changed[0];
    if (first !== undefined) changed[0] = random.next() < 0.5 ? first ^ (1 << upTo(random, 7)) : upTo(random, 255);
    bytes = pick(random, [
      () => Buffer.concat([before, changed, rest]),
      () => Buffer.concat([before, changed, rest]),
      () => Buffer.concat([before, rest]),
      () => Buffer.concat([before, piece, piece, rest]),
      () => Buffer.concat([rest, before, piece]),
      () => Buffer.from(before),
      () => Buffer.concat([before, pick(random, TRAPS), piece, rest]),
      () => Buffer.concat([before, noise(random, 16), rest]),
    ])();
  }
  return bytes;
}

/** Runs a decoder. Undefined when the bytes are refused as they should be; anything else that is thrown is a bug. */
function decodedOrRefused<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (thrown) {
    if (thrown instanceof WireError && !/[\n\r]/.test(thrown.message)) return undefined;
    throw thrown;
  }
}

/** A message that was read can be written, and is read again as the same. */
function fuzzMessage(random: Random): void {
  const type = pick(random, MESSAGES);
  const bytes = damaged(random, honestBytes(random, type));
  const value = decodedOrRefused(() => type.decode(bytes));
  if (value === undefined) return;
  if (!isDeepStrictEqual(type.decode(type.encode(value)), value)) throw new Error(`${type.name} is not what was read`);
}

/** The reader of long lists takes nothing that the codec refuses, and reads the same. */
function fuzzList(random: Random): void {
  const bytes = damaged(random, honestBytes(random, ListAndWatchResponse));
  const summary = decodedOrRefused(() => {
    const reader = new DeviceListReader(bytes, MAX_DEVICES);
    while (!reader.readSlice()) continue;
    return reader.summary();
  });
  const message = decodedOrRefused(() => ListAndWatchResponse.decode(bytes));
  if (summary === undefined) return;
  if (message === undefined) throw new Error('the reader took a list that is no message');
  const last = new Map<string, Device>();
  for (const { id, health, topology } of message.devices) {
    last.set(id, { id, health, numaNodes: topology?.nodes.map((node) => node.id) ?? [] });
  }
  const cut = ({ health, ...rest }: Device): Device => ({ ...rest, health: health.slice(0, 16) });
  const devices = readDevices(bytes);
  if (!isDeepStrictEqual(devices.map(cut), [...last.values()].map(cut))) throw new Error('the lists differ');
  const healthy = devices.filter((device) => device.health === 'Healthy').length;
  if (summary.devices !== devices.length || summary.healthy !== healthy) {
    throw new Error(
      `${summary.healthy} of ${summary.devices} devices were counted, ${healthy} of ${devices.length} are`,
    );
  }
}

function fuzzRetryInfo(random: Random): void {
  const bytes = damaged(random, encodeRetryInfo(upTo(random, 16), pick(random, TEXTS), upTo(random, 100_000)));
  decodedOrRefused(() => decodeRetryInfo(bytes));
}

/** One damaged message, the same for the same seed. Throws when anything but a refusal comes of it. */
function fuzzOnce(seed: number): void {
  const random = seededRandom(seed);
  const kind = random.next();
  if (kind < 0.6) fuzzMessage(random);
  else if (kind < 0.95) fuzzList(random);
  else fuzzRetryInfo(random);
}

/** Many damaged messages. The error names the seed that repeats it. */
export function fuzzMessages(firstSeed: number, inputs: number): void {
  for (let seed = firstSeed; seed < firstSeed + inputs; seed++) {
    try {
      fuzzOnce(seed);
    } catch (thrown) {
      throw new Error(`seed ${seed}`, { cause: thrown });
    }
  }
}
