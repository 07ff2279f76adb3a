// The contents of a checkpoint. Every part is immutable: a change replaces it, so that unchanged parts are encoded once.
import { incarnationKey, pluginKey } from '../model/ids.js';
import type { Incarnation } from '../model/ids.js';
import type { LeaseRecord, LedgerState } from '../model/lease.js';

/** How many tombstones are kept; beyond it the oldest are dropped. */
export const MAX_TOMBSTONES = 1024;

/** Members of a checkpoint that this version does not know. They are written back as they were read. */
export type UnknownFields = ReadonlyMap<string, unknown>;

/** Where the last device list of a plugin is, exactly as it was received (an encoded ListAndWatchResponse). */
export interface StoredList {
  /** Of the bytes, in hexadecimal; also the name of the file below `state/devices/`. */
  readonly sha256: string;
  readonly bytes: number;
  /** How many devices it names, for people who look into the file. */
  readonly devices: number;
  /** How many of them are healthy, so that a start need not read the bytes. Absent in files of versions before 0.2. */
  readonly healthy?: number;
  /** The bytes in base64 when they are few; absent when they are a file. */
  readonly inline?: string;
}

/** The record of one incarnation of a plugin, as its registration knows it. */
export interface PluginFacts {
  readonly type: string;
  readonly name: string;
  readonly door: 'register' | 'watcher';
  /** The endpoint as the plugin spelled it. */
  readonly endpoint: string;
  /** Where that endpoint was found: absolute, links followed. */
  readonly endpointPath: string;
  /** The incarnation of the endpoint's socket. */
  readonly endpointSocket: Incarnation;
  /** The socket that registered; the same as the endpoint's where the plugin has one socket. */
  readonly socketPath: string;
  /** The incarnation of the socket that registered: with type and name, the identity of this entry. */
  readonly socket: Incarnation;
  readonly uid: number;
  /** Absent where it is unknown. */
  readonly pid?: number;
  /** Versions that were offered, and the one that was chosen. */
  readonly versions: readonly string[];
  readonly version: string;
  /** Options of the plugin, as its handler understands them. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether this incarnation is the one that serves its name; others are fallbacks. */
  readonly primary: boolean;
  /** The broker gave it a reason to register afresh, and nothing has been heard of it since. Absent: no. */
  readonly sentAway?: boolean;
  /** RFC 3339. */
  readonly firstRegisteredAt: string;
  readonly lastRegisteredAt: string;
  readonly registrations: number;
  /** Facts of the handler, which understands them again at a restart. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Absent while no list has been received. */
  readonly list?: StoredList;
  readonly extra?: UnknownFields;
}

/** One incarnation of a plugin in the checkpoint. */
export interface PluginEntry extends PluginFacts {
  /** The boot in which the plugin was last known to be alive; empty when the entry is only a hint. */
  readonly bootId: string;
}

/** An incarnation that an operator deregistered: it stays out until it comes with a new socket. */
export interface Tombstone {
  readonly type: string;
  readonly name: string;
  readonly incarnation: Incarnation;
  /** RFC 3339. */
  readonly time: string;
  readonly extra?: UnknownFields;
}

/** The file with the answer of a lease that is too large for the checkpoint; such files are like those of device lists. */
export interface StoredAnswer {
  /** Of the bytes, in hexadecimal; also the name of the file below `state/devices/`. */
  readonly sha256: string;
  readonly bytes: number;
}

/** A lease in the checkpoint. With `answerFile`, the written form names the file instead of the answer. */
export type LeaseEntry = LeaseRecord & { readonly answerFile?: StoredAnswer; readonly extra?: UnknownFields };

/** One generation of the checkpoint. */
export interface CheckpointDocument {
  /** Grows with every attempt to write; gaps are attempts that failed. */
  readonly generation: number;
  /** The boot in which this generation was written. */
  readonly bootId: string;
  /** RFC 3339; empty: never written. */
  readonly writtenAt: string;
  /** The highest event number that had been given out. */
  readonly eventSeq: number;
  readonly plugins: readonly PluginEntry[];
  /** Strikes and quarantines, as the flood policy gave them. */
  readonly limits: readonly unknown[];
  /** Oldest first. */
  readonly tombstones: readonly Tombstone[];
  /** Nothing: the facts of a CSI driver stand in its entry. A file of another program may have some. */
  readonly csi: ReadonlyMap<string, unknown>;
  /** The trust in `leases`. */
  readonly ledger: LedgerState;
  /** Oldest first. */
  readonly leases: readonly LeaseEntry[];
  readonly extra: UnknownFields;
}

/** The checkpoint of a broker that has never seen a plugin. */
export function emptyDocument(bootId: string): CheckpointDocument {
  return {
    generation: 0,
    bootId,
    writtenAt: '',
    eventSeq: 0,
    plugins: [],
    limits: [],
    tombstones: [],
    csi: new Map(),
    ledger: 'ok',
    leases: [],
    extra: new Map(),
  };
}

/** One string for an entry: equal strings mean the same incarnation of the same plugin. */
export function entryKey(entry: {
  readonly type: string;
  readonly name: string;
  readonly socket: Incarnation;
}): string {
  return `${pluginKey(entry)}@${incarnationKey(entry.socket)}`;
}
