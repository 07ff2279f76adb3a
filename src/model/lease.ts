// Leases: devices given to one owner, with their plugins' instructions for using them.
import type { Stamp } from '../kernel/clock.js';
import { nameInText } from '../kernel/visible.js';
import type { LeaseReason } from './allocation-reasons.js';

/**
 * asking: chosen and marked, in memory only, its plugin is being asked · active · unconfirmed: after a restart, its owner
 * was not seen yet · impaired: held, but a device of it cannot be used now.
 */
export type LeaseState = 'asking' | 'active' | 'unconfirmed' | 'impaired';

/** The binding that ends a lease's life. */
export type LeaseBinding = 'process' | 'cgroup' | 'key';

/** One life of a process: a pid alone is used again. */
export interface ProcessLife {
  readonly pid: number;
  /** In clock ticks since boot. */
  readonly startTime: string;
}

/** One life of a control group: its path below the cgroup mount, and its inode. */
export interface CgroupLife {
  readonly path: string;
  readonly inode: string;
}

/** The owner of a lease. The names are words for people and consumers; its identity is uid, process and cgroup. */
export interface LeaseOwner {
  readonly bind: LeaseBinding;
  /**
   * Kind of owner, its name, and a part of it: PodResources shows them as namespace, pod and container. Never empty but `part`.
   */
  readonly namespace: string;
  readonly name: string;
  readonly part: string;
  /** Of a `process` owner. */
  readonly process?: ProcessLife;
  /** Of a `cgroup` owner. */
  readonly cgroup?: CgroupLife;
}

/** Devices that are wanted of one resource. */
export interface Want {
  readonly resource: string;
  /** At least 1, and at least as many as `ids`. */
  readonly count: number;
  /** Devices that must be among them, without repeats. */
  readonly ids: readonly string[];
  readonly numa: 'single' | 'prefer';
}

/** One device of a lease, as its list had it when it was given. */
export interface GrantedDevice {
  readonly id: string;
  readonly numaNodes: readonly number[];
}

/** Devices that a CDI file of an earlier life of the broker names. */
export interface CdiClaim {
  /** The lease that the file was written for. */
  readonly leaseId: string;
  readonly devices: ReadonlyMap<string, readonly GrantedDevice[]>;
}

/** Devices of one resource in a lease. */
export interface Granted {
  readonly resource: string;
  readonly devices: readonly GrantedDevice[];
}

/** A directory or file that a plugin wants in a container. */
export interface AnsweredMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
}

/** A device node that a plugin wants in a container. Empty permissions mean rwm. */
export interface AnsweredDevice {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

/** Plugins' answers to Allocate; in a lease those of all its plugins, merged without conflict. */
export interface PluginAnswer {
  readonly envs: ReadonlyMap<string, string>;
  readonly mounts: readonly AnsweredMount[];
  readonly devices: readonly AnsweredDevice[];
  readonly annotations: ReadonlyMap<string, string>;
  /** Names in `cdi_devices` and in annotations `cdi.k8s.io/*`, in this order and without repeats. */
  readonly cdiDevices: readonly string[];
  /** The answer is lost: the file with it is gone. Everything else is empty then. */
  readonly isLost?: true;
}

/**
 * Why a lease has no CDI name, where that may change: a device node is not there, so that the lease itself cannot be used; it could
 * not be looked at; the directory refuses the file now.
 */
export type NamelessReason = 'device-node-missing' | 'unseen' | 'later';

/** The CDI name of a lease, or why it has none. */
export type CdiResult = { readonly name: string } | { readonly problem: string; readonly reason?: NamelessReason };

/** A lease. Immutable: a change of state is a new value. */
export interface Lease {
  /** 26 of [0-9a-z], grows with time, never used again. */
  readonly id: string;
  readonly state: LeaseState;
  /** Why, where the state is not `active` or `asking`. */
  readonly reason: LeaseReason | undefined;
  readonly owner: LeaseOwner;
  readonly uid: number;
  /** Unique within the uid; undefined without one. */
  readonly key: string | undefined;
  /** The request, for a repeated key. */
  readonly wants: readonly Want[];
  /** In the order of `wants`. */
  readonly granted: readonly Granted[];
  readonly answer: PluginAnswer;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Its time to live; undefined: it has none. */
  readonly ttlMs: number | undefined;
  /** Epoch milliseconds of its end, for people. */
  readonly expiresAt: number | undefined;
  /** The boot in which it was given, or its owner was last seen. */
  readonly bootId: string;
  /** Leases that were lost with a checkpoint, by id, whose devices this one keeps; absent for any other lease. */
  readonly recovers?: readonly string[];
}

/** The knowledge about the leases of an earlier life of the broker. */
export type LedgerState =
  /** All of them. */
  | 'ok'
  /** Those of an older checkpoint; newer ones may be missing. */
  | 'stale'
  /** Nothing, although there were some: nothing may be given out. */
  | 'unknown';

/** A lease as it is on the disk: without members that only hold in one life of the broker. */
export type LeaseRecord = Omit<Lease, 'state' | 'reason' | 'expiresAt'> & {
  /** When its time to live began. */
  readonly renewed?: Stamp;
};

/** The ledger on the disk. Changes are made in memory at once. `leaseRecords` (checkpoint/lease-records) keeps it. */
export interface LedgerStore {
  /** Whether anything that changes now can reach the disk. */
  readonly mayWrite: boolean;
  /** A plugin is being asked: if it answers, a lease is recorded. */
  expect(): void;
  /** Records a lease; false when it was not on the disk in time. */
  put(record: LeaseRecord): Promise<boolean>;
  /** Forgets a lease; false when that is not on the disk yet: it is written later. */
  remove(id: string): Promise<boolean>;
  setLedger(state: LedgerState): Promise<boolean>;
  /** Whether recorded leases still are on the disk: files that somebody removed are written again before it resolves. */
  isKept(): Promise<boolean>;
}

/** Names of the two variables that every lease has. */
const LEASE_ENV = 'PLUGIN_BROKER_LEASE';
export const DEVICES_ENV = 'PLUGIN_BROKER_DEVICES';

/**
 * The environment of a lease's owner: that of its plugins and rules, its id, and `resource=id` joined by semicolons. In ids
 * `%`, `;` and control characters are written as `%` and two hexadecimal digits.
 */
export function leaseEnvs({
  id,
  granted,
  answer,
}: Pick<Lease, 'id' | 'granted' | 'answer'>): ReadonlyMap<string, string> {
  const devices = granted.flatMap(({ resource, devices: given }) =>
    given.map((device) => `${resource}=${device.id.replaceAll(NOT_IN_LIST, escaped)}`),
  );
  const ours = [
    [LEASE_ENV, id],
    [DEVICES_ENV, devices.join(';')],
  ] as const;
  // First, and whatever a plugin says: recovery reads the devices of a lease from a file.
  return new Map([...ours, ...answer.envs, ...ours]);
}

/** Reads the devices variable of `leaseEnvs`: ids by resource. Undefined when the text is none of its values. */
export function devicesOfEnv(text: string): ReadonlyMap<string, readonly string[]> | undefined {
  const devices = new Map<string, string[]>();
  for (const entry of text === '' ? [] : text.split(';')) {
    const at = entry.indexOf('=');
    if (at < 1) return undefined;
    const resource = entry.slice(0, at);
    const id = entry
      .slice(at + 1)
      .replaceAll(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    const ids = devices.get(resource);
    if (ids === undefined) devices.set(resource, [id]);
    else ids.push(id);
  }
  return devices;
}

/** Characters that would end an entry of the list, or cannot stand in a variable. */
const NOT_IN_LIST = /[%;\u0000-\u001f\u007f]/g;
const ESCAPED = /%([0-9a-f]{2})/g;

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Whether news of a lease are the last: it is over, and others may be given its devices. @param type as it goes over the wire */
export function isLast(type: string): boolean {
  return type === 'released' || type === 'expired';
}

/** How an owner is called in messages: `namespace/name`, and `/part` where it has one; in quotes where it is no ordinary name. */
export function ownerText({ namespace, name, part }: Pick<LeaseOwner, 'namespace' | 'name' | 'part'>): string {
  return nameInText(part === '' ? `${namespace}/${name}` : `${namespace}/${name}/${part}`);
}

/**
 * Hears of a change of a lease; without one, of many at once: LeaseAnswers (podresources/lease-answers), and where the broker
 * stands before a kubelet `Consumers.leaseChanged` (allocation/consumers).
 */
export type LeaseListener = (lease?: Lease) => void;

/**
 * The leases for readers (PodResources, views): Allocations (allocation/allocations). `leases` are those on the disk, oldest
 * first: a lease is among them before its owner is told, and no longer once it was released. Listeners are called after each
 * change of the set of leases and of their devices; not when devices of a lease cannot be used, or can again.
 */
export interface LeaseSource {
  leases(): readonly Lease[];
  onChange(listener: LeaseListener): void;
}
