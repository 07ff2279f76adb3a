// `verify [--scenario S…] [--bind] -- CMD…`
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { junit } from '../../verify/junit.js';
import { SCENARIOS } from '../../verify/scenarios.js';
import type { Recording } from '../../verify/run-verify.js';
import type { Scenario } from '../../verify/scenario.js';
import type { ScenarioResult } from '../../verify/verdict.js';
import { CliError, Ended, EXIT } from '../exit.js';
import { painter } from '../output/tones.js';
import { timeoutOption, withOutput, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';
import { VerifyScreen } from '../verify-screen.js';
import { withRunOutputs, type RunOutputs } from './run-outputs.js';
import { jsonText, resultsText } from './verify-results.js';

interface VerifyCommandOptions extends OutputOptions, RunOutputs {
  readonly scenario?: readonly string[];
  readonly skip?: readonly string[];
  readonly warn?: readonly string[];
  readonly repeat: number;
  readonly failFast?: boolean;
  readonly timeout?: number;
  readonly profile: 'broker' | 'kubelet';
  readonly bind?: boolean;
  readonly attach?: boolean;
  readonly root?: string;
  readonly label?: string;
  readonly events?: string;
  readonly artifacts?: string;
  readonly junit?: string;
}

/** Adds the command. */
export function addVerify(program: Command, terminal: Terminal, version: string): void {
  const names = SCENARIOS.map(({ name }) => name);
  const command = withOutput(program.command('verify'))
    .argument('[command...]', "the plugin's command, after --")
    .summary('does a plugin survive the restart of its registry?')
    .description(
      "Runs somebody's plugin against a broker of its own and does to both what happens on real nodes. {devicePlugins}, {registry}, {plugins} and {kubeletSocket} in the command and in the environment become the directories that it is to use. Ends with 1 when the plugin failed a scenario.",
    )
    .addOption(new Option('--scenario <names...>', 'only these').choices(names))
    .addOption(new Option('--skip <names...>', 'not these').choices(names))
    .addOption(
      new Option('--warn <names...>', 'these may fail, which is shown and does not fail the run').choices(names),
    )
    .option('--repeat <count>', 'run each scenario so often; its verdicts have to agree', repetitions, 1)
    .option('--fail-fast', 'begin no scenario any more after one failed')
    .option('--timeout <duration>', 'end the whole run after this, and fail', timeoutOption)
    .addOption(
      new Option('--profile <whose>', 'judge by the behaviour of this broker, or only by that of a real kubelet')
        .choices(['broker', 'kubelet'])
        .default('broker'),
    )
    .option('--bind', 'let it see the directories at /var/lib/kubelet, in a mount namespace of its own')
    .option('--attach', 'wait for a plugin that runs already, with its registry below --root')
    .option('--root <dir>', 'the root directory that --attach is about')
    .option('--label <text>', 'the name of the run in reports, such as a version of the plugin')
    .option('--events <file>', 'write the record of the run as it happens, one JSON object a line')
    .option('--artifacts <dir>', 'write logs and moments of each scenario below this directory')
    .option('--junit <file>', 'write the results as JUnit XML, too');
  withRunOutputs(command)
    .addHelpText('after', () => `\nScenarios:\n${scenarioHelp()}`)
    .action(async (words: readonly string[], options: VerifyCommandOptions) => {
      await runCommand(words, options, terminal, version);
    });
}

async function runCommand(
  command: readonly string[],
  options: VerifyCommandOptions,
  terminal: Terminal,
  version: string,
): Promise<void> {
  const outputs = await import('./verify-outputs.js');
  const { RunRecord } = await import('../../verify/report/run-record.js');
  const { writeArtifacts } = await import('../../verify/report/artifacts.js');
  const attachedRoot = checkUsage(command, options);
  for (const file of [options.junit, options.events]) if (file !== undefined) outputs.checkWritable(file, wrong);
  if (options.artifacts !== undefined) outputs.needDirectory(options.artifacts, wrong);
  const checked = outputs.checkOutputs(options, 'verify');
  const warns: ReadonlySet<string> = new Set(options.warn);
  const at = new Date(terminal.now()).toISOString();
  const label = options.label ?? path.basename(command[0] ?? attachedRoot ?? '');
  const run = { tool: version, at, command: [...command], profile: options.profile, label };
  const record = new RunRecord(options.events);
  const { results, problem } = await runScenarios(command, options, terminal, {
    attachedRoot,
    warns,
    record: { run, write: record.write },
  });
  for (const result of results) record.ended(result, warns.has(result.name));
  // The verdicts first: a disk that is full by now costs files, not them.
  if (options.output === 'json') terminal.write(jsonText(results));
  else terminal.write(resultsText(results, warns, painter(terminal.hasColours)));
  const artifacts = options.artifacts === undefined ? undefined : writeArtifacts(options.artifacts, record.story());
  if (options.junit !== undefined) {
    const what = command.length === 0 ? `plugin below ${attachedRoot ?? ''}` : command.join(' ');
    writeFileSync(options.junit, junit(results, { what, at, warns, artifacts }));
  }
  const comparison = outputs.writeOutputs([record.story()], checked);
  if (comparison !== undefined && options.output !== 'json') terminal.write(outputs.comparisonText(comparison));
  if (problem !== undefined) throw problem;
  if (record.problem !== undefined) throw new CliError(EXIT.failed, record.problem);
  const hasFailed = results.some(({ name, verdict }) => verdict === 'failed' && !warns.has(name));
  if (comparison === undefined ? hasFailed : comparison.regressions.length > 0) throw new Ended(EXIT.failed);
}

interface Ran {
  readonly results: readonly ScenarioResult[];
  /** Why the run ended before all was done. */
  readonly problem: CliError | undefined;
}

async function runScenarios(
  command: readonly string[],
  options: VerifyCommandOptions,
  terminal: Terminal,
  run: { attachedRoot: string | undefined; warns: ReadonlySet<string>; record: Recording },
): Promise<Ran> {
  const { runVerify, whyNotStarted } = await import('../../verify/run-verify.js');
  const scenarios = chosen(options);
  const names = scenarios.map(({ name }) => name);
  const screen = new VerifyScreen(terminal, names, options.output === 'json', run.warns);
  const { signal, isLate } = limited(terminal.interruption(), options.timeout);
  const done: ScenarioResult[] = [];
  try {
    const results = await runVerify(
      {
        scenarios,
        warns: run.warns,
        repeat: options.repeat,
        isFailFast: options.failFast === true,
        profile: options.profile,
        command,
        env: process.env,
        attachedRoot: run.attachedRoot,
        isBound: options.bind === true,
        program: [process.execPath, process.argv[1] ?? ''],
        record: run.record,
      },
      {
        began: (name) => screen.began(name),
        step: (name, what) => screen.step(name, what),
        ended: (result) => {
          done.push(result);
          screen.ended(result);
        },
      },
      signal,
    );
    return { results, problem: undefined };
  } catch (thrown) {
    const why = whyNotStarted(thrown);
    if (why !== undefined) throw new CliError(EXIT.usage, why);
    if (!isLate()) throw thrown;
    const message = `the run was ended after ${(options.timeout ?? 0) / 1_000} s (--timeout): ${done.length} of ${names.length} scenarios are judged`;
    return { results: done, problem: new CliError(EXIT.failed, message) };
  } finally {
    screen.close();
  }
}

function limited(interruption: AbortSignal, ms: number | undefined): { signal: AbortSignal; isLate: () => boolean } {
  if (ms === undefined) return { signal: interruption, isLate: () => false };
  const late = AbortSignal.timeout(ms);
  return { signal: AbortSignal.any([interruption, late]), isLate: () => late.aborted && !interruption.aborted };
}

const wrong = (message: string): never => {
  throw new CliError(EXIT.usage, `verify: ${message}; see plugin-broker verify --help`);
};

/** @returns the root of --attach */
function checkUsage(command: readonly string[], options: VerifyCommandOptions): string | undefined {
  if (chosen(options).length === 0) wrong('--skip leaves no scenario');
  if (options.attach === true) {
    if (command.length > 0) wrong('--attach is about a plugin that runs already: leave the command out');
    if (options.bind === true) wrong('--bind needs a command to start');
    if (options.root === undefined) wrong('--attach needs the --root below which the plugin finds its registry');
    return path.resolve(options.root ?? '');
  }
  if (options.root !== undefined) wrong('--root goes with --attach; without it the plugin gets a root of its own');
  if (command.length === 0) wrong("it needs the plugin's command after --, or --attach");
  return undefined;
}

function chosen({ scenario, skip }: VerifyCommandOptions): readonly Scenario[] {
  return SCENARIOS.filter(({ name }) => scenario?.includes(name) !== false && skip?.includes(name) !== true);
}

function repetitions(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 100) throw new InvalidArgumentError('write 1 to 100');
  return count;
}

function scenarioHelp(): string {
  const width = Math.max(...SCENARIOS.map(({ name }) => name.length));
  return SCENARIOS.map(
    ({ name, does, passesWhen }) =>
      `  ${name.padEnd(width)}  ${does};\n  ${' '.repeat(width)}  passes when ${passesWhen}\n`,
  ).join('');
}
