// The state of one plugin and uid: permits, penalty, and offenders.
import { fitsWritten } from '../kernel/written.js';
import { sameProcess, type Caller } from '../model/ids.js';
import type { FloodPolicy, PluginPolicy } from '../model/settings.js';
import { FairTurns } from './fair-turns.js';
import type { Limiter } from './limiter.js';
import { CLEAN, exceed, quarantineLeftMs, settle, type Exceeding, type Penalty } from './penalty.js';
import type { FloodPorts } from './ports.js';
import type { FloodKey, FloodSubject } from '../model/flood.js';

/** Offending processes kept; a crash loop has a new one each time, and only the latest can still have a session. */
const MAX_OFFENDERS = 8;

/** Bytes of each text of a registration that is kept, as the checkpoint writes it: more than admission takes means nothing. */
const MAX_WRITTEN = 1_024;

/** The owner of a bucket: one plugin, or all invalid names of a uid together, or all that came when every bucket was taken. */
export type BucketKind = 'plugin' | 'invalid-names' | 'others';

/** A bucket of `register` with everything that hangs on it. */
export class Bucket implements FloodKey {
  readonly kind: BucketKind;
  readonly type: string;
  readonly name: string;
  readonly uid: number;
  readonly limiter: Limiter;
  /** The registrations that wait for a permit of it: first come, first served. */
  readonly turns: FairTurns;
  #policy: FloodPolicy;
  #source = 'flood';
  #penalty: Penalty = CLEAN;
  #offenders: readonly Caller[] = [];
  #last: FloodSubject | undefined;
  /** How often `register` was exceeded since the bucket was made. */
  exceeded = 0;
  /** Until when it would be in quarantine if the mode were `enforce`. */
  wouldBeOutUntilMs = 0;
  /** The limit's present effect on callers, and its end. */
  slowing: { readonly word: string; readonly untilMs: number } | undefined;

  constructor(kind: BucketKind, key: FloodKey, policy: PluginPolicy, ports: Pick<FloodPorts, 'openLimiter' | 'clock'>) {
    this.kind = kind;
    this.type = key.type;
    this.name = key.name;
    this.uid = key.uid;
    this.#policy = policy.flood;
    this.limiter = ports.openLimiter(policy.flood.register);
    this.turns = new FairTurns(this.limiter, ports.clock);
    this.adopt(policy, 0);
  }

  /** The flood policy of the last registration. */
  get policy(): FloodPolicy {
    return this.#policy;
  }

  /** The setting that made it: `rules[2].flood` or `flood`. */
  get source(): string {
    return this.#source;
  }

  /** Processes that exceeded a limit since the record was clean, newest last. */
  get offenders(): readonly Caller[] {
    return this.#offenders;
  }

  /**
   * The last registration in the plugin's name, refused ones included: it is the one to be pulled. Its socket is that of the last
   * registration that no quarantine refused, because rules are matched by it.
   */
  get last(): FloodSubject | undefined {
    return this.#last;
  }

  /**
   * How the bucket is called in messages: with its uid where that is not root's, because the name may be another user's, in whose
   * history they stand.
   */
  get who(): string {
    if (this.kind === 'plugin')
      return `${this.type} ${this.name}${this.uid === 0 ? '' : ` of uid ${String(this.uid)}`}`;
    if (this.uid < 0) return this.kind === 'others' ? 'further plugins' : 'plugins with invalid names';
    return this.kind === 'others'
      ? `further plugins of uid ${String(this.uid)}`
      : `plugins with invalid names of uid ${String(this.uid)}`;
  }

  /** The verb after that. */
  get is(): 'is' | 'are' {
    return this.kind === 'plugin' ? 'is' : 'are';
  }

  /** How the bucket is called in events and views: `type/name`, or empty where it is nobody's in particular. */
  get plugin(): string {
    return this.kind === 'plugin' ? `${this.type}/${this.name}` : '';
  }

  /** Goes on under a policy. A change of mode begins with a clean record: observed exceedings are never punished. */
  adopt(policy: PluginPolicy, nowMs: number): void {
    if (policy.flood.mode !== this.#policy.mode) this.pardon();
    this.#source = policy.floodSource;
    if (this.#policy === policy.flood) return;
    this.#policy = policy.flood;
    this.limiter.reload(policy.flood.register);
    this.#penalty = settle(this.#penalty, nowMs, policy.flood.penalty);
  }

  /** Notes a registration. Spellings that no admitted plugin uses are dropped, because they can be as long as a message. */
  named({ socket, endpoint, versions = [], ...subject }: FloodSubject): void {
    const mayPull = endpoint !== undefined && fitsWritten(endpoint, MAX_WRITTEN);
    this.#last = {
      ...subject,
      socket: fitsWritten(socket, MAX_WRITTEN) ? socket : '',
      ...(mayPull && fitsWritten(versions.join(), MAX_WRITTEN) ? { endpoint, versions } : {}),
    };
  }

  /** Notes a registration that the quarantine refused: it is the one to be pulled, and its socket chooses no rule. */
  namedInVain(subject: FloodSubject): void {
    this.named({ ...subject, socket: this.#last?.socket ?? '' });
  }

  /** The record as it is by now. */
  penalty(nowMs: number): Penalty {
    this.#penalty = settle(this.#penalty, nowMs, this.#policy.penalty);
    if (this.#penalty === CLEAN) this.#offenders = [];
    return this.#penalty;
  }

  /** Takes over a record, of a checkpoint. */
  restore(penalty: Penalty, offenders: readonly Caller[], last: FloodSubject | undefined): void {
    this.#penalty = penalty;
    this.#offenders = offenders.slice(-MAX_OFFENDERS);
    if (last !== undefined) this.named(last);
  }

  /** Counts one exceeding by a process. */
  exceed(nowMs: number, by: Caller | undefined): Exceeding {
    const exceeding = exceed(this.penalty(nowMs), nowMs, this.#policy.penalty, this.#policy.mode);
    this.#penalty = exceeding.penalty;
    if (by !== undefined) {
      const others = this.#offenders.filter((offender) => !sameProcess(offender, by));
      this.#offenders = [...others, by].slice(-MAX_OFFENDERS);
    }
    return exceeding;
  }

  /** Forgets strikes and quarantine. Returns whether there were any. */
  pardon(): boolean {
    const had = this.#penalty.strikesAtMs.length > 0 || this.#penalty.quarantinedUntilMs !== undefined;
    this.#penalty = CLEAN;
    this.#offenders = [];
    return had;
  }

  /**
   * Milliseconds until the process may register again, or be pulled: an incarnation that never offended is not kept out of a
   * pull, whatever process calls in its name.
   */
  quarantineLeftMs(nowMs: number, subject: Pick<FloodSubject, 'pulled' | 'caller'>): number {
    const leftMs = quarantineLeftMs(this.#penalty, nowMs);
    const { caller, pulled } = subject;
    if (leftMs === 0 || !pulled || caller === undefined || this.#offenders.length === 0) return leftMs;
    return this.#offenders.some((offender) => sameProcess(offender, caller)) ? leftMs : 0;
  }

  /** Ends the wait of everybody and stops the limiter. */
  close(): void {
    this.turns.close();
    this.limiter.close();
  }

  /** Whether nobody gains by making it anew: full and without strikes. */
  isForgettable(nowMs: number): boolean {
    return this.limiter.isFull() && this.penalty(nowMs) === CLEAN;
  }
}
