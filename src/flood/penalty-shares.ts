// Chooses the strikes and quarantines for the checkpoint, which is written whole with each registration and each lease and read
// whole at a start, while every invented name can have strikes. A record that is left out is an amnesty at a restart.
import type { Stamp } from '../kernel/clock.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import type { Bucket } from './bucket.js';
import { CLEAN, type Penalty } from './penalty.js';
import { toRecord, type PenaltyRecord } from './penalty-record.js';

/** Bytes of records as JSON: of one ordinary user, of all ordinary users, and of everybody. */
const OWN_BYTES = 256 * 1024;
const STRANGERS_BYTES = 1024 * 1024;
const ALL_BYTES = 4 * 1024 * 1024;
/** No record is shorter: where less is left, none is made to see whether it fits. */
const SHORTEST = 150;
/** Bytes between two records. */
const BETWEEN = 2;

interface Punished {
  readonly bucket: Bucket;
  readonly penalty: Penalty;
}

/** A record and its inputs; it names its time, so that it stays true while those stay the same. */
interface Made extends Pick<Bucket, 'offenders' | 'last'> {
  readonly penalty: Penalty;
  readonly record: PenaltyRecord;
  readonly bytes: number;
}

/** Makes records, only of changed buckets: each generation asks for all. */
export class PenaltyShares {
  readonly #facts: UserFacts;
  readonly #made = new WeakMap<Bucket, Made>();

  /** @param facts tell the users apart whose records have a share */
  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /**
   * The records of these buckets: quarantines first, the longest before others, then the buckets with most strikes.
   *
   * @param nowMs on the monotonic clock
   * @param stamp the same moment, as the next life of the broker can tell it
   */
  recordsOf(buckets: Iterable<Bucket>, nowMs: number, stamp: Stamp): PenaltyRecord[] {
    const records: PenaltyRecord[] = [];
    const own = new Map<number, number>();
    let [strangers, all] = [STRANGERS_BYTES, ALL_BYTES];
    for (const { bucket, penalty } of punished(buckets, nowMs)) {
      const stranger = strangerUser(bucket.uid, this.#facts);
      const left = stranger === undefined ? all : (own.get(stranger) ?? OWN_BYTES);
      const room = stranger === undefined ? all : Math.min(left, strangers, all);
      if (room < SHORTEST) continue;
      const { record, bytes } = this.#recordOf(bucket, penalty, nowMs, stamp);
      if (bytes > room) {
        // The rest of its records is not tried one by one.
        if (stranger !== undefined) own.set(stranger, 0);
        continue;
      }
      records.push(record);
      all -= bytes;
      if (stranger === undefined) continue;
      strangers -= bytes;
      own.set(stranger, left - bytes);
    }
    return records;
  }

  #recordOf(bucket: Bucket, penalty: Penalty, nowMs: number, stamp: Stamp): Made {
    const { offenders, last } = bucket;
    const before = this.#made.get(bucket);
    if (before?.penalty === penalty && before.offenders === offenders && before.last === last) return before;
    const record = toRecord(bucket, penalty, nowMs, stamp);
    const made = { penalty, offenders, last, record, bytes: Buffer.byteLength(JSON.stringify(record)) + BETWEEN };
    this.#made.set(bucket, made);
    return made;
  }
}

function punished(buckets: Iterable<Bucket>, nowMs: number): Punished[] {
  const found: Punished[] = [];
  for (const bucket of buckets) {
    if (bucket.kind !== 'plugin' || bucket.policy.mode !== 'enforce') continue;
    const penalty = bucket.penalty(nowMs);
    if (penalty !== CLEAN) found.push({ bucket, penalty });
  }
  return found.sort(({ penalty: a }, { penalty: b }) => {
    const untilMs = (b.quarantinedUntilMs ?? 0) - (a.quarantinedUntilMs ?? 0);
    return untilMs === 0 ? b.strikesAtMs.length - a.strikesAtMs.length : untilMs;
  });
}
