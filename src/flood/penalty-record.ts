// Strikes and quarantines as the checkpoint holds them: a restart is no amnesty. Pure. Times are kept as the time left or passed
// when they were written, with both clocks, from which the next life sees how long ago that is.
import type { Stamp } from '../kernel/clock.js';
import { fitsWritten } from '../kernel/written.js';
import type { Caller } from '../model/ids.js';
import type { PenaltySettings } from '../model/settings.js';
import { settle, type Penalty } from './penalty.js';
import type { FloodKey, FloodSubject } from '../model/flood.js';

/** One bucket in the checkpoint: plain JSON. */
export interface PenaltyRecord extends FloodKey {
  readonly stamp: Stamp;
  readonly exceededAgoMs: number | null;
  readonly strikesAgoMs: readonly number[];
  readonly quarantineLeftMs: number;
  readonly served: number;
  readonly endedAgoMs: number | null;
  /** Processes by pid and start time, which mean something in the same boot only. */
  readonly offenders: readonly Caller[];
  readonly last: Omit<FloodSubject, 'pulled' | 'badName' | keyof FloodKey> | null;
}

/** The written part of a bucket. */
export interface Recorded extends FloodKey {
  readonly offenders: readonly Caller[];
  readonly last: FloodSubject | undefined;
}

/** A record that was read, on the monotonic clock of this process. */
export interface RestoredPenalty extends FloodKey {
  readonly penalty: Penalty;
  readonly offenders: readonly Caller[];
  readonly last: FloodSubject | undefined;
  /** There was a quarantine, which ended since the record was written. */
  readonly isOver: boolean;
}

/** Bytes of a name as it is written; longer ones are none that admission let pass. */
const MAX_WRITTEN = 1_024;

/** Writes a record down. */
export function toRecord(bucket: Recorded, penalty: Penalty, nowMs: number, stamp: Stamp): PenaltyRecord {
  const { type, name, uid, offenders, last } = bucket;
  const ago = (atMs: number | undefined): number | null => (atMs === undefined ? null : Math.round(nowMs - atMs));
  return {
    type,
    name,
    uid,
    stamp,
    exceededAgoMs: ago(penalty.exceededAtMs),
    strikesAgoMs: penalty.strikesAtMs.map((atMs) => Math.round(nowMs - atMs)),
    quarantineLeftMs: Math.max(0, Math.round((penalty.quarantinedUntilMs ?? nowMs) - nowMs)),
    served: penalty.served,
    endedAgoMs: ago(penalty.endedAtMs),
    offenders,
    last: last === undefined ? null : namedLast(last),
  };
}

function namedLast({ socket, caller, door, endpoint, versions }: FloodSubject): PenaltyRecord['last'] {
  const named = endpoint === undefined ? { socket, caller, door } : { socket, caller, door, endpoint };
  return versions === undefined ? named : { ...named, versions };
}

/**
 * Milliseconds since a record was written: by the machine's own scale within a boot, which no clock step touches; by the
 * wall clock after a reboot, and never less than nothing, so that a clock set back lengthens no quarantine.
 */
function elapsedMs(written: Stamp, now: Stamp, isSameBoot: boolean): number {
  return Math.max(0, isSameBoot ? now.bootMs - written.bootMs : now.wallMs - written.wallMs);
}

/** When records are read. */
export interface ReadAt {
  /** On the monotonic clock. */
  readonly nowMs: number;
  /** The same moment, as records tell it. */
  readonly stamp: Stamp;
  /** Whether the machine has not been started again since they were written. */
  readonly isSameBoot: boolean;
}

/** Reads a record that may be of anybody's making; undefined when it is not one. */
export function fromRecord(
  value: unknown,
  { nowMs, stamp, isSameBoot }: ReadAt,
  settingsOf: (record: PenaltyRecord) => PenaltySettings,
): RestoredPenalty | undefined {
  if (!isRecord(value)) return undefined;
  const { type, name, uid } = value;
  const settings = settingsOf(value);
  const passedMs = elapsedMs(value.stamp, stamp, isSameBoot);
  const at = (agoMs: number | null): number | undefined => (agoMs === null ? undefined : nowMs - agoMs - passedMs);
  const leftMs = Math.min(settings.maxMs, value.quarantineLeftMs) - passedMs;
  const penalty: Penalty = {
    exceededAtMs: at(value.exceededAgoMs),
    strikesAtMs: value.strikesAgoMs.slice(-settings.strikes).map((agoMs) => nowMs - agoMs - passedMs),
    quarantinedUntilMs: value.quarantineLeftMs > 0 ? nowMs + leftMs : undefined,
    served: value.served,
    endedAtMs: at(value.endedAgoMs),
  };
  const last = value.last === null ? undefined : { ...value.last, type, name, uid, pulled: false, badName: false };
  return {
    type,
    name,
    uid,
    penalty: settle(penalty, nowMs, settings),
    offenders: isSameBoot ? value.offenders : [],
    last,
    isOver: value.quarantineLeftMs > 0 && leftMs <= 0,
  };
}

function isRecord(value: unknown): value is PenaltyRecord {
  const record = value as Partial<Record<keyof PenaltyRecord, unknown>> | null;
  return (
    typeof record === 'object' &&
    record !== null &&
    [record.type, record.name].every((text) => typeof text === 'string' && fitsWritten(text, MAX_WRITTEN)) &&
    [record.uid, record.quarantineLeftMs, record.served].every(isAmount) &&
    isStamp(record.stamp) &&
    [record.exceededAgoMs, record.endedAgoMs].every((ago) => ago === null || isAmount(ago)) &&
    Array.isArray(record.strikesAgoMs) &&
    record.strikesAgoMs.every(isAmount) &&
    Array.isArray(record.offenders) &&
    record.offenders.every(isCaller) &&
    (record.last === null || isLast(record.last))
  );
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isStamp(value: unknown): value is Stamp {
  const stamp = value as Partial<Record<keyof Stamp, unknown>> | null | undefined;
  return typeof stamp === 'object' && stamp !== null && isAmount(stamp.bootMs) && isAmount(stamp.wallMs);
}

function isCaller(value: unknown): value is Caller {
  const caller = value as Partial<Record<keyof Caller, unknown>> | null;
  return (
    typeof caller === 'object' &&
    caller !== null &&
    isAmount(caller.uid) &&
    (caller.pid === undefined || isAmount(caller.pid)) &&
    (caller.startTime === undefined || typeof caller.startTime === 'string')
  );
}

function isLast(value: unknown): boolean {
  const last = value as Partial<Record<keyof FloodSubject, unknown>> | null | undefined;
  return (
    typeof last === 'object' &&
    last !== null &&
    typeof last.socket === 'string' &&
    (last.door === 'register' || last.door === 'watcher') &&
    (last.caller === undefined || isCaller(last.caller)) &&
    (last.endpoint === undefined || typeof last.endpoint === 'string') &&
    (last.versions === undefined || (Array.isArray(last.versions) && last.versions.every((v) => typeof v === 'string')))
  );
}
