// The flood policy at work: asked for each registration, for the pace of each session, and for each connection.
import { Listeners } from '../kernel/listeners.js';
import { strangerUser } from '../model/ids.js';
import type { Refusal } from '../model/reasons.js';
import type { PluginPolicy, PolicySource } from '../model/settings.js';
import type { FloodRuleView, LimitView } from '../model/views.js';
import { AllocateLimit } from './allocate-limit.js';
import type { Bucket } from './bucket.js';
import { Buckets } from './buckets.js';
import { ConnectionBudget } from './connection-budget.js';
import { penaltyView, registerViews, ruleViews } from './limit-views.js';
import { CLEAN, quarantineLeftMs } from './penalty.js';
import { fromRecord, type PenaltyRecord } from './penalty-record.js';
import { PenaltyShares } from './penalty-shares.js';
import type { FloodPorts } from './ports.js';
import { Quarantines } from './quarantines.js';
import { exceeded, ownLimit, type RegistrationLimit } from './registration-limit.js';
import { quarantinedSentence } from './sentences.js';
import { SharedRegistrations } from './shared-registrations.js';
import { Pacers } from './pacers.js';
import type { PacedSession, UpdatePacer } from './update-pacer.js';
import type {
  FloodKey,
  FloodListener,
  FloodSubject,
  FloodVerdict,
  ListPacing,
  PacedEnrolment,
  PenaltyView,
  Quarantine,
  RegistrationLimits,
} from '../model/flood.js';

const PASS: FloodVerdict = { kind: 'pass' };

/** All limits, strikes and quarantines. */
export class FloodGate implements RegistrationLimits, ListPacing {
  /** The limit on connections. */
  readonly connections: ConnectionBudget;
  /** The limit on requests for devices. */
  readonly allocations: AllocateLimit;
  /** The listeners of quarantines and penalties. */
  readonly listeners = new Listeners<FloodListener>();
  readonly #ports: FloodPorts;
  readonly #buckets: Buckets;
  readonly #quarantines: Quarantines;
  readonly #shares: PenaltyShares;
  readonly #pacers: Pacers;
  readonly #shared: SharedRegistrations;
  #policy: PolicySource;

  constructor(policy: PolicySource, ports: FloodPorts) {
    const { openLimiter, clock, metrics, ownUid, userOf } = ports;
    this.#ports = ports;
    this.#policy = policy;
    this.#buckets = new Buckets({ openLimiter, clock, ownUid, userOf, most: () => this.#policy.flood.maxBuckets });
    this.#quarantines = new Quarantines(ports, this.listeners);
    this.#shares = new PenaltyShares(ports);
    this.#shared = new SharedRegistrations(policy.flood, ports);
    this.connections = new ConnectionBudget(policy.flood, ports);
    this.allocations = new AllocateLimit(policy.flood, ports);
    const struck = (session: PacedSession): void => this.#struck(session);
    this.#pacers = new Pacers({ openLimiter, metrics, clock, events: ports.events, struck }, ports);
  }

  /** Quarantines that run now. */
  get quarantines(): number {
    return this.#quarantines.size;
  }

  /** Buckets of `register` that are kept. */
  get buckets(): number {
    return this.#buckets.size;
  }

  /** Why the plugin is kept out, if it is. Costs nothing else, so it is asked before any work is done. */
  quarantined(subject: FloodSubject): Refusal | undefined {
    const bucket = subject.badName ? undefined : this.#buckets.find(subject);
    if (bucket === undefined) return undefined;
    const banned = this.#banned(bucket, subject);
    if (banned !== undefined && !subject.pulled) bucket.namedInVain(subject);
    return banned;
  }

  /**
   * Counts a registration: by its plugin's limit, and when it has its permit, by its user's share, by that of all
   * ordinary users, and then by the limit of all together, so that a call that waits for its own permit takes none from others. A
   * pull is not counted, because nobody called.
   * At the watcher door, where the broker calls, each action (`onExceed`) means to wait without a limit.
   */
  registration(subject: FloodSubject): FloodVerdict {
    const policy = this.#policy.policyFor(subject.type, subject.name, subject.socket);
    const bucket = this.#buckets.for(subject, subject.badName, policy);
    // In a quarantine only a reload changes the rule: otherwise a call from a socket of another rule would lift it.
    if (!this.#isOut(bucket)) this.#adopt(bucket, policy);
    const banned = this.#banned(bucket, subject);
    if (banned !== undefined) {
      if (!subject.pulled) bucket.namedInVain(subject);
      return { kind: 'refuse', refusal: banned };
    }
    if (subject.pulled) return PASS;
    bucket.named(subject);
    return this.#askEach([() => ownLimit(bucket), ...this.#shared.limits(subject)], subject, bucket);
  }

  /** The pace of one session's lists; close it with the session. */
  openPacer(enrolment: PacedEnrolment): UpdatePacer {
    return this.#pacers.open(enrolment);
  }

  /** A plugin of the checkpoint keeps a bucket of its own, however many others come. Once for each of its entries. */
  pin(key: FloodKey): void {
    this.#buckets.pin(key);
  }

  /** Ends a pin, when an entry leaves the checkpoint. */
  unpin(key: FloodKey): void {
    this.#buckets.unpin(key);
  }

  /** Forgets strikes and quarantine of a plugin, for all its callers. Returns how many records there were. */
  pardon(type: string, name: string): number {
    let pardoned = 0;
    for (const bucket of this.#buckets.all()) {
      if (bucket.kind !== 'plugin' || bucket.type !== type || bucket.name !== name) continue;
      if (!bucket.pardon()) continue;
      bucket.slowing = undefined;
      pardoned += 1;
      this.#quarantines.ended(bucket, 'was lifted by an operator');
    }
    if (pardoned > 0) this.listeners.tell((listener) => listener.penaltiesChanged?.());
    return pardoned;
  }

  /** Goes on under another policy: no limiter loses or gains a permit by it. */
  reload(policy: PolicySource): void {
    this.#policy = policy;
    this.#shared.reload(policy.flood);
    this.connections.reload(policy.flood);
    this.allocations.reload(policy.flood);
    for (const bucket of this.#buckets.all()) {
      this.#adopt(bucket, policy.policyFor(bucket.type, bucket.name, bucket.last?.socket ?? ''));
    }
    this.#pacers.reload(policy);
  }

  /** Every bucket that was spent from, has strikes, or slows somebody. */
  limits(): LimitView[] {
    return [...this.eachLimit()];
  }

  /** The same one by one; `only` those of these plugins (`type/name`) and those of nobody in particular. */
  *eachLimit(only?: ReadonlySet<string>): Generator<LimitView> {
    yield* [...this.#shared.views(), ...this.connections.views(), ...this.allocations.views()];
    yield* registerViews(this.#buckets.all(), this.#ports.clock, only);
    yield* this.#pacers.views(only);
  }

  /** The penalty that a plugin's caller bears. */
  penaltyOf(key: FloodKey): PenaltyView {
    return penaltyView(this.#buckets.find(key), this.#ports.clock);
  }

  /** The state of each rule, for dashboards. */
  rules(): FloodRuleView[] {
    return ruleViews(this.#buckets.all(), this.#policy.flood, this.#ports.clock.mono());
  }

  /** Strikes and quarantines for the checkpoint, as many as have room in it. */
  snapshot(): PenaltyRecord[] {
    const { clock, bootMs } = this.#ports;
    const stamp = { bootMs: Math.round(bootMs()), wallMs: clock.wall() };
    return this.#shares.recordsOf(this.#buckets.all(), clock.mono(), stamp);
  }

  /**
   * Goes on with strikes and quarantines of a checkpoint: `quarantineBegan` is called for those that still run. Foreign records
   * are skipped.
   *
   * @param isSameBoot whether the machine has not been started again since
   * @returns quarantines that ended meanwhile: their plugins are to be pulled
   */
  restore(records: readonly unknown[], isSameBoot: boolean): Quarantine[] {
    const over: Quarantine[] = [];
    const { clock, bootMs } = this.#ports;
    const nowMs = clock.mono();
    const at = { nowMs, stamp: { bootMs: bootMs(), wallMs: clock.wall() }, isSameBoot };
    for (const record of records) {
      const restored = fromRecord(
        record,
        at,
        ({ type, name, last }) => this.#policy.policyFor(type, name, last?.socket ?? '').flood.penalty,
      );
      if (restored === undefined) continue;
      if (restored.isOver) over.push({ ...restored, lengthMs: 0 });
      if (restored.penalty === CLEAN) continue;
      const policy = this.#policy.policyFor(restored.type, restored.name, restored.last?.socket ?? '');
      if (policy.flood.mode === 'observe') continue;
      const bucket = this.#buckets.for(restored, false, policy);
      if (bucket.kind !== 'plugin') continue;
      bucket.restore(restored.penalty, restored.offenders, restored.last);
      const leftMs = quarantineLeftMs(restored.penalty, nowMs);
      if (leftMs > 0) this.#quarantines.goesOn(bucket, leftMs);
    }
    return over;
  }

  /** Stops all limiters and alarms. */
  close(): void {
    this.#quarantines.close();
    this.#buckets.close();
    this.#shared.close();
    this.connections.close();
    this.allocations.close();
    this.#pacers.close();
  }

  #adopt(bucket: Bucket, policy: PluginPolicy): void {
    bucket.adopt(policy, this.#ports.clock.mono());
    if (!this.#isOut(bucket)) this.#quarantines.ended(bucket, 'is over');
  }

  #isOut(bucket: Bucket): boolean {
    const nowMs = this.#ports.clock.mono();
    return quarantineLeftMs(bucket.penalty(nowMs), nowMs) > 0;
  }

  /** Asks one limit after the other; the next one when a permit of the one before is there. */
  #askEach(
    limits: readonly (() => RegistrationLimit | undefined)[],
    subject: FloodSubject,
    bucket: Bucket,
  ): FloodVerdict {
    const [first, ...others] = limits;
    if (first === undefined) return PASS;
    const limit = first();
    const verdict = limit === undefined ? PASS : this.#ask(limit, subject, bucket);
    if (verdict.kind === 'refuse') return verdict;
    const rest = (): FloodVerdict => this.#askEach(others, subject, bucket);
    if (verdict.kind === 'pass') return rest();
    const wait = async (signal: AbortSignal): Promise<FloodVerdict> => {
      const then = await verdict.wait(signal);
      return then.kind === 'pass' ? rest() : then;
    };
    return { ...verdict, wait };
  }

  #ask(asked: RegistrationLimit, subject: FloodSubject, bucket: Bucket): FloodVerdict {
    if (asked.limiter.tryTake()) return PASS;
    const { verdict, action, message } = exceeded(asked, bucket.who, subject.door === 'register');
    this.#ports.metrics.floodExceeded(asked.limit, action);
    asked.noted();
    // The limits of many are exceeded by no plugin's own doing: no strike.
    if (asked.limit === 'register') {
      const waitMs = verdict.kind === 'delay' ? verdict.delayMs : asked.limiter.nextInMs();
      bucket.slowing = { word: action, untilMs: this.#ports.clock.mono() + waitMs };
      const isStruck = !this.#mayBeDriven(subject) && this.#strike(bucket, subject);
      const banned = isStruck ? this.#banned(bucket, subject) : undefined;
      if (banned !== undefined) return { kind: 'refuse', refusal: banned };
      if (verdict.kind === 'refuse') this.#quarantines.callBack(bucket, waitMs);
    }
    // A refusal is reported by the stage that answers it.
    if (verdict.kind !== 'refuse') {
      const { plugin } = bucket;
      const { socket, uid } = subject;
      this.#ports.events.record({ type: 'flood', reason: asked.code, plugin, uid, socket, message });
    }
    return verdict;
  }

  /** Others may cause its calls by moving its socket or kubelet.sock. An ordinary user may do so itself, and is kept out. */
  #mayBeDriven({ uid, door }: FloodSubject): boolean {
    return strangerUser(uid, this.#ports) === undefined && this.#ports.namesMove(door);
  }

  /** Counts an exceeding against the plugin; returns whether a quarantine began with it. */
  #strike(bucket: Bucket, by: Pick<FloodSubject, 'caller'>): boolean {
    const { isStrike, quarantineMs } = bucket.exceed(this.#ports.clock.mono(), by.caller);
    if (isStrike && bucket.policy.mode === 'enforce') this.#quarantines.struck();
    if (quarantineMs === undefined) return false;
    if (bucket.policy.mode === 'enforce') this.#quarantines.began(bucket, quarantineMs);
    else this.#quarantines.wouldBegin(bucket, quarantineMs);
    return bucket.policy.mode === 'enforce';
  }

  #struck(session: PacedSession): void {
    const policy = this.#policy.policyFor(session.type, session.name, session.socket);
    this.#strike(this.#buckets.for(session, false, policy), session);
  }

  #banned(bucket: Bucket, subject: FloodSubject): Refusal | undefined {
    const retryAfterMs = Math.ceil(bucket.quarantineLeftMs(this.#ports.clock.mono(), subject));
    if (retryAfterMs === 0) return undefined;
    return { code: 'QUARANTINED', message: quarantinedSentence(bucket.who, bucket.is, retryAfterMs), retryAfterMs };
  }
}
