import type { UpdatePacer } from '../../src/flood/update-pacer.js';
import { FloodGate } from '../../src/flood/flood-gate.js';
import type { FloodPorts } from '../../src/flood/ports.js';
import type { Caller } from '../../src/model/ids.js';
import type { Refusal } from '../../src/model/reasons.js';
import type { FloodPolicy, FloodSettings, PluginPolicy, PolicySource } from '../../src/model/settings.js';
import { FakeClock } from './fake-clock.js';
import { modelLimiters } from './model-limiter.js';
import { countedFloods, RecordedEvents, RecordedLog } from './recorders.js';
import type { FloodSubject, FloodVerdict, Quarantine } from '../../src/model/flood.js';

/** The defaults of the flood policy. */
export const FLOOD: FloodSettings = {
  mode: 'enforce',
  register: { burst: 5, intervalMs: 2_000, onExceed: 'delay', maxDelayMs: 1_000 },
  updates: { burst: 10, intervalMs: 250, onExceed: 'coalesce' },
  connections: { burst: 300, intervalMs: 20, onExceed: 'disconnect', perProcess: 256, total: 2_048, streams: 128 },
  allocate: { burst: 20, intervalMs: 50 },
  globalRegister: { burst: 1_000, intervalMs: 5, onExceed: 'delay', maxDelayMs: 1_000 },
  penalty: { strikes: 10, windowMs: 60_000, quarantineMs: 60_000, factor: 2, maxMs: 600_000 },
  maxBuckets: 4_096,
};

/** Differences for some plugins: a rule by name. */
export type FloodRules = ReadonlyMap<string, Partial<FloodPolicy>>;

/** The effective policy of one plugin. */
function policyOf(flood: FloodPolicy, rule?: number): PluginPolicy {
  const { mode, register, updates, penalty } = flood;
  return {
    rules: rule === undefined ? [] : [`rules[${String(rule)}]`],
    flood: { mode, register, updates, penalty },
    floodSource: rule === undefined ? 'flood' : `rules[${String(rule)}].flood`,
    duplicates: 'newest',
    reattach: 'stream',
    graceMs: 30_000,
    uids: undefined,
    allocate: { uids: undefined, max: undefined, consumer: undefined, env: new Map() },
  };
}

/** A policy as the configuration gives it: the same plugin always gets the same object. */
export function policySource(flood: Partial<FloodSettings> = {}, rules: FloodRules = new Map()): PolicySource {
  const settings = { ...FLOOD, ...flood };
  const byDefault = policyOf(settings);
  const names = [...rules.keys()];
  const byName = new Map(
    [...rules].map(([name, rule]) => [name, policyOf({ ...settings, ...rule }, names.indexOf(name))] as const),
  );
  return { flood: settings, policyFor: (_type, name) => byName.get(name) ?? byDefault };
}

/** A process. */
export function processOf(pid: number, uid = 0): Caller {
  return { uid, gid: uid, pid, startTime: String(pid * 100), source: 'peercred' };
}

/** A registration of `vendor.com/gpu` by pid 1, unless told otherwise. */
export function subjectOf(over: Partial<FloodSubject> = {}): FloodSubject {
  const uid = over.uid ?? 0;
  return {
    type: 'DevicePlugin',
    name: 'vendor.com/gpu',
    uid,
    socket: 'gpu.sock',
    caller: processOf(1, uid),
    door: 'register',
    pulled: false,
    badName: false,
    ...over,
  };
}

/** A gate on model limiters and a fake clock, and all it says. */
export class FloodWorld {
  readonly clock: FakeClock;
  readonly events = new RecordedEvents();
  readonly log = new RecordedLog();
  readonly counts: Map<string, number>;
  readonly began: Quarantine[] = [];
  readonly ended: Quarantine[] = [];
  changes = 0;
  /** Ordinary users may move names in the directories of the doors. */
  namesMove = false;
  readonly gate: FloodGate;

  constructor(
    policy: PolicySource = policySource(),
    clock = new FakeClock(),
    bootMs = () => 1_000_000 + clock.mono(),
    crowded: FloodPorts['crowded'] = () => undefined,
    userOf: FloodPorts['userOf'] = (uid) => uid,
    ownUid = 0,
  ) {
    const { metrics, counts } = countedFloods();
    this.clock = clock;
    this.counts = counts;
    const ports: FloodPorts = {
      openLimiter: modelLimiters(clock),
      clock,
      events: this.events,
      metrics,
      log: this.log,
      bootMs,
      ownUid,
      userOf,
      namesMove: () => this.namesMove,
      processorShare: 1,
      crowded,
    };
    this.gate = new FloodGate(policy, ports);
    this.gate.listeners.follow({
      quarantineBegan: (quarantine) => void this.began.push(quarantine),
      quarantineEnded: (quarantine) => void this.ended.push(quarantine),
      penaltiesChanged: () => void (this.changes += 1),
    });
  }

  /** Asks as admission does: quarantine first, then the limits. */
  register(over: Partial<FloodSubject> = {}): FloodVerdict {
    const subject = subjectOf(over);
    const refusal = this.gate.quarantined(subject);
    return refusal === undefined ? this.gate.registration(subject) : { kind: 'refuse', refusal };
  }

  /** Registers until it is in quarantine. */
  misbehave(over: Partial<FloodSubject> = {}): void {
    for (let call = 0; call < 100; call += 1) {
      if (refusalOf(this.register(over))?.code === 'QUARANTINED') return;
    }
    throw new Error('a hundred calls brought no quarantine');
  }
}

/** The refusal of a verdict. */
export function refusalOf(verdict: FloodVerdict): Refusal | undefined {
  return verdict.kind === 'refuse' ? verdict.refusal : undefined;
}

/** How long a verdict holds a call; milliseconds. */
export function delayOf(verdict: FloodVerdict): number | undefined {
  return verdict.kind === 'delay' ? verdict.delayMs : undefined;
}

/** Paces the lists of `vendor.com/gpu`. */
export function openPacer(world: FloodWorld, policy = policySource(), caller = processOf(1)): UpdatePacer {
  const { type, name, socket } = subjectOf();
  return world.gate.openPacer({ type, name, socket: { path: socket }, caller, policy: policy.policyFor('', '', '') });
}
