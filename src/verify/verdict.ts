// The ends of a scenario, as values for reports and as errors for the judge.

/** The verdict on a plugin in one scenario. */
export type Verdict = 'passed' | 'failed' | 'skipped';

/**
 * Every code of a verdict, with its meaning. The list is closed: programs compare codes and never sentences. ok and
 * saved-by-broker are codes of passed ones; not-applicable, broker-fault, machine-busy and unsettled of skipped ones; the others
 * of failed ones.
 */
export const VERDICT_CODES = {
  ok: 'it did what the scenario asks',
  'saved-by-broker': 'it is served, but only because a rule of this broker (reattach) does more than a kubelet',
  unsettled: 'it never had a quiet time with stable healthy devices, so nothing can be said of what is done to it',
  'no-healthy-device': 'it registered and has no healthy device',
  'wrong-answer': 'it answered a call, and the answer is wrong',
  'never-back': 'it did not register, or did not come back, in all the time it had',
  late: 'it came back, later than the scenario allows',
  storm: 'it registered too often',
  dipped: 'its devices were gone for a while',
  crashed: 'its process ended when it should have gone on',
  hung: 'it lives and does not answer any more',
  'socket-lost': 'it goes on without its socket, so that the next registry cannot find it',
  'not-applicable': 'the scenario says nothing about this plugin',
  'broker-fault': 'the broker did not do its own part',
  'machine-busy': 'the machine was too slow to hold the plugin to a limit',
} as const;

/** A code of VERDICT_CODES. */
export type VerdictCode = keyof typeof VERDICT_CODES;

/** Codes that something can fail with. */
export type FailedCode = Exclude<
  VerdictCode,
  'ok' | 'saved-by-broker' | 'not-applicable' | 'broker-fault' | 'machine-busy'
>;

/** One moment of a scenario, for the timeline beneath a failed one. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly who: 'verify' | 'broker' | 'plugin';
  readonly what: string;
}

/** The judgement of one scenario. */
export interface ScenarioResult {
  readonly name: string;
  readonly verdict: Verdict;
  readonly code: VerdictCode;
  readonly seconds: number;
  /** When it began; epoch milliseconds. */
  readonly startedAt: number;
  /** One sentence without a full stop: the observation. */
  readonly evidence: string;
  /** The moments that decided; epoch milliseconds, oldest first. */
  readonly at: readonly number[];
  /** Oldest first; moments that do not fit are left out in the middle, with a note. */
  readonly timeline: readonly Moment[];
  /** The last that the plugin wrote, both of its outputs together. */
  readonly output: string;
}

/** The result of a scenario that a plugin passed: the evidence, and where it is not `ok`, the code. */
export interface Passed {
  readonly code: 'ok' | 'saved-by-broker';
  readonly evidence: string;
}

/** The plugin did not do what the scenario asks. The message is the evidence. */
export class Failed extends Error {
  override readonly name = 'Failed';
  readonly code: FailedCode;
  /** The moments that decided; epoch milliseconds. */
  readonly at: readonly number[];

  constructor(code: FailedCode, evidence: string, at: readonly number[] = [Date.now()]) {
    super(evidence);
    this.code = code;
    this.at = at;
  }
}

/** The scenario says nothing about this plugin. The message says why. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
  readonly code: 'not-applicable' | 'unsettled';

  constructor(why: string, code: 'not-applicable' | 'unsettled' = 'not-applicable') {
    super(why);
    this.code = code;
  }
}

/** The broker failed in its part, so nothing can be said of the plugin. The message describes the failure. */
export class BrokerFault extends Error {
  override readonly name = 'BrokerFault';
}
