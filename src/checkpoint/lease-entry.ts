// A lease as one line of the checkpoint, and back.
import { believable } from '../kernel/counter.js';
import { ifPossible } from '../kernel/if-possible.js';
import type { LeaseBinding, LeaseOwner, LedgerState, PluginAnswer, Want } from '../model/lease.js';
import type { LeaseEntry, StoredAnswer } from './document.js';
import { LEASE_MEMBERS } from './format.js';
import { Malformed, Members } from './members.js';
import { MAX_LEVELS, nestsDeeper, TOO_DEEP } from './nesting.js';

const leaseMembers: ReadonlySet<string> = new Set(LEASE_MEMBERS);
/** A lease is an object in a list of the document. */
const LEASE_LEVELS = 2;
/** Most leases have no annotations, and a thousand empty maps are a quarter of a megabyte. */
export const NO_TEXTS: ReadonlyMap<string, string> = new Map<string, string>([]);
/** An answer that is in a file, until that is read. */
const LOST: PluginAnswer = {
  envs: NO_TEXTS,
  mounts: [],
  devices: [],
  annotations: NO_TEXTS,
  cdiDevices: [],
  isLost: true,
};
const BINDINGS: ReadonlySet<string> = new Set<LeaseBinding>(['process', 'cgroup', 'key']);
const STATES: ReadonlySet<string> = new Set<LedgerState>(['ok', 'stale', 'unknown']);

/** The line of a lease. Names that plugins chose become members of objects, also names such as `__proto__`. */
export function leaseText(entry: LeaseEntry): string {
  const { id, uid, key, owner, wants, granted, answer, answerFile } = entry;
  const { createdAt, ttlMs, renewed, bootId, recovers, extra } = entry;
  // An undefined member is not written. The order is that of the format.
  const members: Readonly<Record<(typeof LEASE_MEMBERS)[number], unknown>> = {
    id,
    uid,
    key,
    owner,
    wants,
    granted,
    answer: answerFile === undefined ? answerMembers(answer) : undefined,
    answerFile,
    createdAt: new Date(createdAt).toISOString(),
    ttlMs,
    renewed,
    bootId,
    recovers,
  };
  return JSON.stringify(extra === undefined ? members : Object.fromEntries([...Object.entries(members), ...extra]));
}

/** An answer as a file of its own, with the bytes that would stand in the lease. */
export function answerText(answer: PluginAnswer): string {
  return JSON.stringify(answerMembers(answer));
}

/** The answer in a file; undefined when it is none. */
export function answerFrom(bytes: Buffer): PluginAnswer | undefined {
  return ifPossible(() => decodeAnswer(new Members(JSON.parse(bytes.toString('utf8')))));
}

function answerMembers({ envs, mounts, devices, annotations, cdiDevices }: PluginAnswer): object {
  return {
    envs: Object.fromEntries(envs),
    mounts,
    devices,
    annotations: Object.fromEntries(annotations),
    cdiDevices,
  };
}

/** @throws Malformed */
export function decodeLedger(ledger: Members): LedgerState {
  const state = ledger.text('state');
  if (!STATES.has(state)) throw new Malformed(`ledger.state must be ok, stale or unknown, not ${state}`);
  return state as LedgerState;
}

/** @throws Malformed when it is not as the format says */
export function decodeLease(lease: Members): LeaseEntry {
  const extra = lease.others(leaseMembers);
  if (extra.size > 0 && nestsDeeper([...extra.values()], MAX_LEVELS - LEASE_LEVELS)) throw new Malformed(TOO_DEEP);
  const createdAt = Date.parse(lease.text('createdAt'));
  if (Number.isNaN(createdAt)) throw new Malformed('createdAt of a lease must be a time');
  const renewed = lease.has('renewed') ? lease.object('renewed') : undefined;
  return {
    id: decodeId(lease.text('id')),
    uid: lease.count('uid'),
    key: lease.has('key') ? lease.text('key') : undefined,
    owner: decodeOwner(lease.object('owner')),
    wants: lease.objects('wants').map((want) => ({
      resource: want.text('resource'),
      count: want.count('count'),
      ids: want.texts('ids'),
      numa: decodeNuma(want.text('numa')),
    })),
    granted: lease.objects('granted').map((granted) => ({
      resource: granted.text('resource'),
      devices: granted.objects('devices').map((device) => ({
        id: device.text('id'),
        // As the plugin says them: an int64, and -1 is what sysfs says of a device without a node.
        numaNodes: device.wholeNumbers('numaNodes'),
      })),
    })),
    ...(lease.has('answerFile')
      ? { answer: LOST, answerFile: decodeAnswerFile(lease.object('answerFile')) }
      : { answer: decodeAnswer(lease.object('answer')) }),
    createdAt,
    ttlMs: lease.has('ttlMs') ? decodeTtl(lease.count('ttlMs')) : undefined,
    ...(renewed === undefined ? {} : { renewed: { bootMs: renewed.count('bootMs'), wallMs: renewed.count('wallMs') } }),
    bootId: lease.text('bootId'),
    ...(lease.has('recovers') ? { recovers: lease.texts('recovers').map(decodeId) } : {}),
    ...(extra.size === 0 ? {} : { extra }),
  };
}

/** Whether this is an id that a lease can have. It becomes part of a file's name, outside of state/ too. */
export function isLeaseId(id: string): boolean {
  return /^[\w-]{1,64}$/.test(id);
}

function decodeId(id: string): string {
  if (!isLeaseId(id)) throw new Malformed('id of a lease must be letters and digits');
  return id;
}

/** Refuses a time to live so long that its end is no date, which nobody could show. */
function decodeTtl(ttlMs: number): number {
  if (believable(ttlMs) !== ttlMs) throw new Malformed('ttlMs of a lease must be a time that somebody can ask for');
  return ttlMs;
}

function decodeNuma(numa: string): Want['numa'] {
  if (numa !== 'single' && numa !== 'prefer') throw new Malformed(`numa must be single or prefer, not ${numa}`);
  return numa;
}

function decodeOwner(owner: Members): LeaseOwner {
  const bind = owner.text('bind');
  if (!BINDINGS.has(bind)) throw new Malformed(`a lease must be bound to process, cgroup or key, not ${bind}`);
  const process = owner.has('process') ? owner.object('process') : undefined;
  const cgroup = owner.has('cgroup') ? owner.object('cgroup') : undefined;
  return {
    bind: bind as LeaseBinding,
    namespace: owner.text('namespace'),
    name: owner.text('name'),
    part: owner.text('part'),
    ...(process === undefined ? {} : { process: { pid: process.count('pid'), startTime: process.text('startTime') } }),
    ...(cgroup === undefined ? {} : { cgroup: { path: cgroup.text('path'), inode: cgroup.text('inode') } }),
  };
}

function decodeAnswerFile(file: Members): StoredAnswer {
  return { sha256: file.sha256(), bytes: file.count('bytes') };
}

function decodeAnswer(answer: Members): PluginAnswer {
  return {
    envs: texts(answer, 'envs'),
    mounts: answer.objects('mounts').map((mount) => ({
      containerPath: mount.text('containerPath'),
      hostPath: mount.text('hostPath'),
      readOnly: mount.flag('readOnly'),
    })),
    devices: answer.objects('devices').map((device) => ({
      containerPath: device.text('containerPath'),
      hostPath: device.text('hostPath'),
      permissions: device.text('permissions'),
    })),
    annotations: texts(answer, 'annotations'),
    cdiDevices: answer.texts('cdiDevices'),
  };
}

function texts(answer: Members, name: string): ReadonlyMap<string, string> {
  const names = Object.keys(answer.record(name));
  if (names.length === 0) return NO_TEXTS;
  const members = answer.object(name);
  return new Map(names.map((key) => [key, members.text(key)]));
}
