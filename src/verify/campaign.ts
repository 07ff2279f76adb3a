// Runs scenarios: the first to see whether the plugin comes up, then the others, side by side where it bears that.
import { availableParallelism } from 'node:os';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { PluginPicture } from '../model/fault-port.js';
import { judge } from './judge.js';
import { agreed } from './repeated.js';
import type { Known, Profile } from './rig.js';
import type { Scenario } from './scenario.js';
import { firstList } from './scenarios/first-list.js';
import type { ScenarioResult, VerdictCode } from './verdict.js';
import type { OpenRig, RigFactory } from './rig-factory.js';

/** How many scenarios run side by side at most. */
const MOST_LANES = 8;

/** Hears of the progress. */
export interface Progress {
  began(name: string): void;
  /** The present step. */
  step(name: string, what: string): void;
  ended(result: ScenarioResult): void;
}

/** The scenarios to run, and how. */
export interface Campaign {
  readonly scenarios: readonly Scenario[];
  /** Names of scenarios that may fail without the run failing. */
  readonly warns: ReadonlySet<string>;
  /** Each scenario is run so often; its verdicts have to agree. */
  readonly repeat: number;
  /** No scenario is begun any more after one failed. */
  readonly isFailFast: boolean;
  readonly profile: Profile;
}

/** The findings of the trial. */
interface Trial {
  readonly result: ScenarioResult;
  readonly known: Known | undefined;
  readonly plugins: readonly PluginPicture[];
  /** Several instances of it can run on this machine, each with a registry of its own. */
  readonly isSideBySide: boolean;
}

/**
 * Runs scenarios and gives their results in the same order.
 *
 * @param halt ends all of the rig factory's rigs, when one of them shows a bug of ours
 * @param seen takes what came up in the first scenario, once, also where that was ended
 * @throws the reason of the rig factory's signal when it aborts
 */
export async function runCampaign(
  campaign: Campaign,
  rigFactory: RigFactory,
  halt: AbortController,
  progress: Progress,
  seen: (plugins: readonly PluginPicture[]) => void,
): Promise<readonly ScenarioResult[]> {
  const { scenarios } = campaign;
  const rest = scenarios.filter(({ name }) => name !== firstList.name);
  const isAsked = rest.length < scenarios.length;
  const results = new Map<string, ScenarioResult>();
  const done = (result: ScenarioResult): void => {
    results.set(result.name, result);
    progress.ended(result);
  };
  if (isAsked) progress.began(firstList.name);
  const onNote = (what: string): void => {
    if (isAsked) progress.step(firstList.name, what);
  };
  const trial = await tryOut(campaign, rigFactory, isAsked, onNote, seen);
  if (isAsked) done(await repeated(firstList, trial.result, campaign, rigFactory, trial.known, progress));
  const { known } = trial;
  const waiting: Scenario[] = [];
  for (const scenario of rest) {
    const why = reasonToSkip(scenario, trial, rigFactory.isOurs, campaign.profile);
    if (why === undefined) waiting.push(scenario);
    // No scenario asked whether it comes up: the findings there count for the first that was asked for.
    else if (known === undefined && results.size === 0) done({ ...trial.result, name: scenario.name });
    else done(skipped(scenario, why));
  }
  waiting.sort((a, b) => b.seconds - a.seconds);
  const hasFailed = (): boolean =>
    campaign.isFailFast &&
    [...results.values()].some((one) => one.verdict === 'failed' && !campaign.warns.has(one.name));
  const lane = async (): Promise<void> => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      if (hasFailed()) done(skipped(scenario, NOT_BEGUN));
      else done(await repeated(scenario, undefined, campaign, rigFactory, known, progress));
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

interface Reason {
  readonly code: VerdictCode;
  readonly why: string;
}

const NOT_BEGUN: Reason = { code: 'not-applicable', why: 'not run: another scenario had failed (--fail-fast)' };

function skipped({ name }: Scenario, { code, why }: Reason): ScenarioResult {
  const nothing = { seconds: 0, startedAt: Date.now(), at: [], timeline: [], output: '' };
  return { ...nothing, name, verdict: 'skipped', code, evidence: why };
}

/** Runs a scenario as often as is asked, in rigs of their own. @param first the result of the first time, if there was one */
async function repeated(
  scenario: Scenario,
  first: ScenarioResult | undefined,
  campaign: Campaign,
  rigFactory: RigFactory,
  known: Known | undefined,
  progress: Progress,
): Promise<ScenarioResult> {
  const results = first === undefined ? [] : [first];
  if (first === undefined) progress.began(scenario.name);
  while (results.length < campaign.repeat && (first === undefined || known !== undefined)) {
    const run = results.length + 1;
    const open = rigFactory.make(known, { scenario, run }, (what) => progress.step(scenario.name, what));
    try {
      results.push(await told(open, scenario, campaign));
    } finally {
      await open.close();
    }
  }
  return agreed(results);
}

async function told(open: OpenRig, scenario: Scenario, { warns }: Campaign): Promise<ScenarioResult> {
  const result = await judge(scenario, open.rig);
  open.ended(result, warns.has(scenario.name));
  return result;
}

/** Starts the plugin once, and a second instance beside it. */
async function tryOut(
  campaign: Campaign,
  rigFactory: RigFactory,
  isAsked: boolean,
  onNote: (what: string) => void,
  seen: (plugins: readonly PluginPicture[]) => void,
): Promise<Trial> {
  const first = rigFactory.make(undefined, isAsked ? { scenario: firstList, run: 1 } : undefined, onNote);
  try {
    const result = await told(first, firstList, campaign).finally(() => seen(first.rig.plugins));
    const { plugins } = first.rig;
    if (result.verdict !== 'passed') return { result, known: undefined, plugins, isSideBySide: false };
    const { known } = first.rig;
    const wantsSecond = rigFactory.isOurs && campaign.scenarios.some(({ name }) => name !== firstList.name);
    const isSideBySide = wantsSecond && (await comesUpBeside(rigFactory, known)) && first.rig.isServed();
    return { result, known, plugins, isSideBySide };
  } finally {
    await first.close();
  }
}

async function comesUpBeside(rigFactory: RigFactory, known: Known | undefined): Promise<boolean> {
  const second = rigFactory.make(known, undefined, () => undefined);
  try {
    await second.rig.comeUp();
    return second.rig.subject.ends.length === 0;
  } catch (thrown) {
    second.rig.changes.signal.throwIfAborted();
    if (thrown instanceof Error) return false;
    throw thrown;
  } finally {
    await second.close();
  }
}

function reasonToSkip(scenario: Scenario, trial: Trial, isOurs: boolean, profile: Profile): Reason | undefined {
  const { result, known, plugins } = trial;
  if (known === undefined) {
    if (result.code === 'unsettled') return { code: 'unsettled', why: `not run: ${result.evidence}` };
    if (result.verdict === 'skipped') return { code: result.code, why: result.evidence };
    return notApplicable('not run: first-list comes first, and it failed');
  }
  if (profile === 'kubelet' && scenario.notByKubelets !== undefined) return notApplicable(scenario.notByKubelets);
  if (scenario.needsCommand === true && !isOurs) {
    return notApplicable('a plugin that runs already cannot be started a second time');
  }
  if (scenario.isAboutDevices === true && !plugins.some(({ type }) => type === DEVICE_PLUGIN)) {
    return notApplicable('it is about device lists, and this driver has none');
  }
  if (scenario.doors.includes(known.door)) return undefined;
  return notApplicable(
    known.door === 'register'
      ? 'it is about the watched directory, and this plugin calls Register'
      : 'it is about Register, and this plugin waits in the watched directory',
  );
}

function notApplicable(why: string): Reason {
  return { code: 'not-applicable', why };
}
