// Runs scenarios: the first to see whether the plugin comes up, then the others, side by side where it bears that.
import { availableParallelism } from 'node:os';
import { firstList } from './scenarios/first-list.js';
import type { Known } from './rig.js';
import type { Scenario } from './scenario.js';
import { judge } from './judge.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { ScenarioResult } from './verdict.js';
import type { Workshop } from './workshop.js';

/** How many scenarios run side by side at most. */
const MOST_LANES = 8;

/** Who is told how far it is. */
export interface Progress {
  began(name: string): void;
  /** What is being done now. */
  step(name: string, what: string): void;
  ended(result: ScenarioResult): void;
}

/** What came up in the trial. */
interface Trial {
  readonly result: ScenarioResult;
  readonly known: Known | undefined;
  readonly hasDevices: boolean;
  /** Several instances of it can run on this machine, each with a registry of its own. */
  readonly isSideBySide: boolean;
}

/**
 * Runs scenarios and gives their results in the same order.
 *
 * @param halt ends all of the workshop's rigs, when one of them shows a bug of ours
 * @throws the reason of the workshop's signal when it aborts
 */
export async function runCampaign(
  scenarios: readonly Scenario[],
  workshop: Workshop,
  halt: AbortController,
  progress: Progress,
): Promise<readonly ScenarioResult[]> {
  const rest = scenarios.filter(({ name }) => name !== firstList.name);
  const isAsked = rest.length < scenarios.length;
  const results = new Map<string, ScenarioResult>();
  const done = (result: ScenarioResult): void => {
    results.set(result.name, result);
    progress.ended(result);
  };
  if (isAsked) progress.began(firstList.name);
  const trial = await tryOut(workshop, workshop.isOurs && rest.length > 1, (what) => {
    if (isAsked) progress.step(firstList.name, what);
  });
  if (isAsked) done(trial.result);
  const { known } = trial;
  const waiting: Scenario[] = [];
  for (const scenario of rest) {
    const why = reasonToSkip(scenario, trial, workshop.isOurs);
    if (why === undefined) waiting.push(scenario);
    // Nobody asked whether it comes up: what is found there is said of the first that was asked.
    else if (known === undefined && results.size === 0) done({ ...trial.result, name: scenario.name });
    else done({ name: scenario.name, verdict: 'skipped', seconds: 0, evidence: why, timeline: [], output: '' });
  }
  waiting.sort((a, b) => b.seconds - a.seconds);
  const lane = async (): Promise<void> => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      done(await runOne(scenario, workshop, known, progress));
    }
  };
  const lanes = trial.isSideBySide ? Math.min(MOST_LANES, availableParallelism() + 2) : 1;
  const stopAll = (thrown: unknown): never => {
    halt.abort(thrown);
    throw thrown;
  };
  const ends = await Promise.allSettled(Array.from({ length: lanes }, () => lane().catch(stopAll)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return scenarios.flatMap(({ name }) => results.get(name) ?? []);
}

async function runOne(
  scenario: Scenario,
  workshop: Workshop,
  known: Known | undefined,
  progress: Progress,
): Promise<ScenarioResult> {
  const { name } = scenario;
  progress.began(name);
  const open = workshop.make(known, (what) => progress.step(name, what));
  try {
    return await judge(scenario, open.rig);
  } finally {
    await open.close();
  }
}

/** Starts the plugin once, and a second instance beside it. */
async function tryOut(workshop: Workshop, wantsSecond: boolean, onNote: (what: string) => void): Promise<Trial> {
  const first = workshop.make(undefined, onNote);
  try {
    const result = await judge(firstList, first.rig);
    if (result.verdict !== 'passed') return { result, known: undefined, hasDevices: false, isSideBySide: false };
    const { known } = first.rig;
    const hasDevices = first.rig.plugins.some(({ type }) => type === DEVICE_PLUGIN);
    const isSideBySide = wantsSecond && (await comesUpBeside(workshop, known)) && first.rig.isServed();
    return { result, known, hasDevices, isSideBySide };
  } finally {
    await first.close();
  }
}

async function comesUpBeside(workshop: Workshop, known: Known): Promise<boolean> {
  const second = workshop.make(known, () => undefined);
  try {
    await second.rig.comeUp();
    return second.rig.subject.ends.length === 0;
  } catch (thrown) {
    second.rig.changes.throwIfAborted();
    if (thrown instanceof Error) return false;
    throw thrown;
  } finally {
    await second.close();
  }
}

function reasonToSkip(scenario: Scenario, trial: Trial, isOurs: boolean): string | undefined {
  const { result, known, hasDevices } = trial;
  if (known === undefined)
    return result.verdict === 'skipped' ? result.evidence : 'not run: first-list comes first, and it failed';
  if (scenario.needsCommand === true && !isOurs) return 'a plugin that runs already cannot be started a second time';
  if (scenario.isAboutDevices === true && !hasDevices) return 'it is about device lists, and this driver has none';
  if (scenario.doors.includes(known.door)) return undefined;
  return known.door === 'register'
    ? 'it is about the watched directory, and this plugin calls Register'
    : 'it is about Register, and this plugin waits in the watched directory';
}
