// From the bytes of a checkpoint to a document: envelope, format number, upgrades, members, in this order.
import type { Incarnation } from '../model/ids.js';
import type { CheckpointDocument, LeaseEntry, PluginEntry, StoredList, Tombstone, UnknownFields } from './document.js';
import { unseal } from './envelope.js';
import { DOCUMENT_MEMBERS, ENTRY_MEMBERS, FORMAT, TOMBSTONE_MEMBERS } from './format.js';
import { decodeLease, decodeLedger } from './lease-entry.js';
import { cutLeases, parseLines } from './lease-lines.js';
import { Malformed, Members } from './members.js';
import { MAX_LEVELS, nestsDeeper, TOO_DEEP } from './nesting.js';
import { PlainLeases } from './plain-lease.js';
import { UPGRADES, upgrade } from './upgrades.js';
import type { RawDocument, UpgradeStep } from './upgrades.js';

/**
 * The result of decoding some bytes. `problem` continues the sentence "checkpoint.json cannot be used: …"; `bootId` is the boot
 * that a damaged file names where that is still legible.
 */
export type Decoded<T> =
  | { readonly kind: 'document'; readonly document: T }
  | { readonly kind: 'newer'; readonly format: number }
  | { readonly kind: 'damaged'; readonly problem: string; readonly bootId?: string };

/** The envelope's first line and the boot fit into this, and in format 1 the generation before it. */
const HEAD_BYTES = 256;

const documentMembers: ReadonlySet<string> = new Set(DOCUMENT_MEMBERS);
const entryMembers: ReadonlySet<string> = new Set(ENTRY_MEMBERS);
const tombstoneMembers: ReadonlySet<string> = new Set(TOMBSTONE_MEMBERS);

/** Is told the leases, and the bytes of their lines. */
type KeepLines = (leases: readonly LeaseEntry[], lines: Buffer) => void;

/**
 * Understands the bytes of a checkpoint. Never throws.
 *
 * @param keep is told the leases where they stand as this version writes them
 */
export function decodeCheckpoint(
  bytes: Buffer,
  steps: ReadonlyMap<number, UpgradeStep> = UPGRADES,
  newest = FORMAT,
  keep: KeepLines = () => undefined,
): Decoded<CheckpointDocument> {
  const envelope = unseal(bytes);
  if (envelope.kind === 'damaged') return { ...envelope, ...legibleBoot(bytes) };
  if (envelope.format > newest) return { kind: 'newer', format: envelope.format };
  try {
    const cut = envelope.format === FORMAT ? cutLeases(bytes) : undefined;
    const parsed = JSON.parse(cut?.around ?? bytes.toString('utf8')) as RawDocument;
    // Leases are most of it, and inside them only members unknown to this version can nest: see decodeLease.
    if (nestsDeeper({ ...parsed, leases: undefined }, MAX_LEVELS)) return damaged(bytes, TOO_DEEP);
    const raw = upgrade(parsed, envelope.format, newest, steps);
    if (raw === undefined) return damaged(bytes, `nothing upgrades its format ${envelope.format}`);
    const document = decodeDocument(raw);
    if (cut === undefined) return { kind: 'document', document };
    const leases = decodeLeases(parseLines(cut.lines));
    keep(leases, cut.lines);
    return { kind: 'document', document: { ...document, leases } };
  } catch (failure) {
    if (failure instanceof Malformed || failure instanceof SyntaxError) return damaged(bytes, failure.message);
    throw failure;
  }
}

/** @throws Malformed */
function decodeLeases(parsed: Iterable<unknown>): readonly LeaseEntry[] {
  const plain = new PlainLeases();
  const document = new Members({});
  const leases: LeaseEntry[] = [];
  for (const value of parsed)
    leases.push(plain.take(value) ?? decodeLease(new Members(value, document, 'leases', leases.length)));
  return leases;
}

function damaged(bytes: Buffer, problem: string): Decoded<CheckpointDocument> {
  return { kind: 'damaged', problem, ...legibleBoot(bytes) };
}

/** The boot is one of the first members, so that it is legible in most files that were cut or changed further on. */
function legibleBoot(bytes: Buffer): { readonly bootId?: string } {
  const head = bytes.toString('latin1', 0, HEAD_BYTES);
  const bootId = /^\{"format":[0-9]+,\n(?:"generation":[0-9]+,\n)?"bootId":"([0-9a-f-]{36})",\n/.exec(head)?.[1];
  return bootId === undefined ? {} : { bootId };
}

/**
 * The members of a document in the format of this version, whatever stands around them.
 *
 * @throws Malformed when a member is not as the format says
 */
export function decodeDocument(raw: RawDocument): CheckpointDocument {
  const members = new Members(raw);
  return {
    generation: members.counter('generation'),
    bootId: members.text('bootId'),
    writtenAt: members.text('writtenAt'),
    eventSeq: members.counter('eventSeq'),
    plugins: members.objects('plugins').map(decodeEntry),
    limits: members.list('limits'),
    tombstones: members.objects('tombstones').map(decodeTombstone),
    csi: new Map(Object.entries(members.record('csi'))),
    ledger: decodeLedger(members.object('ledger')),
    leases: members.objects('leases').map(decodeLease),
    extra: members.others(documentMembers),
  };
}

/** @throws Malformed */
export function decodeEntry(entry: Members): PluginEntry {
  const door = entry.text('door');
  if (door !== 'register' && door !== 'watcher') throw new Malformed(`door must be register or watcher, not ${door}`);
  return {
    type: entry.text('type'),
    name: entry.text('name'),
    door,
    endpoint: entry.text('endpoint'),
    endpointPath: entry.text('endpointPath'),
    endpointSocket: decodeIncarnation(entry.object('endpointSocket')),
    socketPath: entry.text('socketPath'),
    socket: decodeIncarnation(entry.object('socket')),
    bootId: entry.text('bootId'),
    uid: entry.count('uid'),
    ...(entry.has('pid') ? { pid: entry.count('pid') } : {}),
    versions: entry.texts('versions'),
    version: entry.text('version'),
    options: entry.record('options'),
    primary: entry.flag('primary'),
    ...(entry.has('sentAway') ? { sentAway: entry.flag('sentAway') } : {}),
    firstRegisteredAt: entry.text('firstRegisteredAt'),
    lastRegisteredAt: entry.text('lastRegisteredAt'),
    registrations: entry.counter('registrations'),
    facts: entry.record('facts'),
    ...(entry.has('list') ? { list: decodeList(entry.object('list')) } : {}),
    ...extraOf(entry.others(entryMembers)),
  };
}

/** @throws Malformed */
export function decodeTombstone(tombstone: Members): Tombstone {
  return {
    type: tombstone.text('type'),
    name: tombstone.text('name'),
    incarnation: decodeIncarnation(tombstone.object('incarnation')),
    time: tombstone.text('time'),
    ...extraOf(tombstone.others(tombstoneMembers)),
  };
}

function decodeIncarnation(incarnation: Members): Incarnation {
  return { dev: incarnation.text('dev'), ino: incarnation.text('ino'), birthNs: incarnation.text('birthNs') };
}

function decodeList(list: Members): StoredList {
  return {
    sha256: list.sha256(),
    bytes: list.count('bytes'),
    devices: list.count('devices'),
    ...(list.has('healthy') ? { healthy: list.count('healthy') } : {}),
    ...(list.has('inline') ? { inline: list.text('inline') } : {}),
  };
}

function extraOf(extra: UnknownFields): { readonly extra?: UnknownFields } {
  return extra.size === 0 ? {} : { extra };
}
