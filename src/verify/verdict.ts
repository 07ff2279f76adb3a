// How a scenario ends, as values for reports and as errors for those who judge.

/** What is said of a plugin in one scenario. */
export type Verdict = 'passed' | 'failed' | 'skipped';

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
  readonly seconds: number;
  /** One sentence without a full stop: what was seen. */
  readonly evidence: string;
  /** Oldest first; what does not fit is left out in the middle, and said. */
  readonly timeline: readonly Moment[];
  /** The last that the plugin wrote, both of its outputs together. */
  readonly output: string;
}

/** The plugin did not do what the scenario asks. The message is the evidence. */
export class Failed extends Error {
  override readonly name = 'Failed';
}

/** The scenario says nothing about this plugin. The message says why. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}

/** The broker did not do its part, so nothing can be said of the plugin. The message says what it did. */
export class BrokerFault extends Error {
  override readonly name = 'BrokerFault';
}
