// `verify [--scenario S…] [--bind] -- CMD…`
import { accessSync, constants, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { junit, timelineText } from '../../verify/junit.js';
import { SCENARIOS } from '../../verify/scenarios.js';
import type { Scenario } from '../../verify/scenario.js';
import type { ScenarioResult } from '../../verify/verdict.js';
import { CliError, Ended, EXIT } from '../exit.js';
import { visible, visibleJson } from '../output/text.js';
import { painter, type Paint } from '../output/tones.js';
import { withOutput, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';
import { VerifyScreen } from '../verify-screen.js';

/** Lines of a plugin's output that are shown of a failed scenario. */
const OUTPUT_LINES = 40;

interface VerifyCommandOptions extends OutputOptions {
  readonly scenario?: readonly string[];
  readonly bind?: boolean;
  readonly attach?: boolean;
  readonly root?: string;
  readonly junit?: string;
}

/** Adds the command. */
export function addVerify(program: Command, terminal: Terminal): void {
  const names = SCENARIOS.map(({ name }) => name);
  withOutput(program.command('verify'))
    .argument('[command...]', "the plugin's command, after --")
    .summary('does a plugin survive the restart of its registry?')
    .description(
      "Runs somebody's plugin against a broker of its own and does to both what happens on real nodes. {devicePlugins}, {registry}, {plugins} and {kubeletSocket} in the command and in the environment become the directories that it is to use. Ends with 1 when the plugin failed a scenario.",
    )
    .addOption(new Option('--scenario <names...>', 'only these').choices(names))
    .option('--bind', 'let it see the directories at /var/lib/kubelet, in a mount namespace of its own')
    .option('--attach', 'wait for a plugin that runs already, with its registry below --root')
    .option('--root <dir>', 'the root directory that --attach is about')
    .option('--junit <file>', 'write the results as JUnit XML, too')
    .addHelpText('after', () => `\nScenarios:\n${scenarioHelp()}`)
    .action(async (command: readonly string[], options: VerifyCommandOptions) => {
      await runVerify(command, options, terminal);
    });
}

async function runVerify(command: readonly string[], options: VerifyCommandOptions, terminal: Terminal): Promise<void> {
  const attachedRoot = checkUsage(command, options);
  const { verifyPlugin, whyNotStarted } = await import('../../verify/run-verify.js');
  const scenarios = chosen(options.scenario);
  const isJson = options.output === 'json';
  const startedAt = new Date(terminal.now()).toISOString();
  const screen = new VerifyScreen(
    terminal,
    scenarios.map(({ name }) => name),
    isJson,
  );
  let results: readonly ScenarioResult[];
  try {
    const program = [process.execPath, process.argv[1] ?? ''];
    const isBound = options.bind === true;
    results = await verifyPlugin(
      { scenarios, command, isBound, attachedRoot, program },
      screen,
      terminal.interruption(),
    );
  } catch (thrown) {
    const why = whyNotStarted(thrown);
    if (why === undefined) throw thrown;
    throw new CliError(EXIT.usage, why);
  } finally {
    screen.close();
  }
  if (options.junit !== undefined) {
    const what = command.length === 0 ? `plugin below ${attachedRoot ?? ''}` : command.join(' ');
    writeFileSync(options.junit, junit(results, { what, at: startedAt }));
  }
  if (isJson) terminal.write(`${visibleJson({ scenarios: results.map(jsonOf) }, false)}\n`);
  else terminal.write(report(results, painter(terminal.hasColours)));
  if (results.some(({ verdict }) => verdict === 'failed')) throw new Ended(EXIT.failed);
}

/** @returns the root of --attach */
function checkUsage(command: readonly string[], options: VerifyCommandOptions): string | undefined {
  const wrong = (message: string): never => {
    throw new CliError(EXIT.usage, `verify: ${message}; see plugin-broker verify --help`);
  };
  if (options.junit !== undefined) checkWritable(options.junit, wrong);
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

function checkWritable(file: string, wrong: (message: string) => never): void {
  try {
    accessSync(path.dirname(path.resolve(file)), constants.W_OK);
  } catch {
    wrong(`${file} cannot be written`);
  }
}

function chosen(names: readonly string[] | undefined): readonly Scenario[] {
  return names === undefined ? SCENARIOS : SCENARIOS.filter(({ name }) => names.includes(name));
}

function jsonOf({ name, verdict, seconds, evidence }: ScenarioResult): object {
  return { name, verdict, seconds, evidence };
}

/** What is said after the last scenario: everything about those that failed, then the sum. */
function report(results: readonly ScenarioResult[], paint: Paint): string {
  const count = (verdict: ScenarioResult['verdict']): number => results.filter((one) => one.verdict === verdict).length;
  const failed = results.filter(({ verdict }) => verdict === 'failed').map((result) => failure(result, paint));
  return `${failed.join('')}\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`;
}

function failure({ name, evidence, timeline, output }: ScenarioResult, paint: Paint): string {
  const lines = output.trimEnd().split('\n');
  const shown = lines.slice(-OUTPUT_LINES).map((line) => `    ${visible(line)}\n`);
  const story = timelineText(timeline)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${visible(line)}\n`);
  const said = output === '' ? '' : `  ${paint('quiet', 'the last that it wrote:')}\n${shown.join('')}`;
  return `\n${paint('bad', `${name} failed`)}: ${visible(evidence)}\n${story.join('')}${said}`;
}

function scenarioHelp(): string {
  const width = Math.max(...SCENARIOS.map(({ name }) => name.length));
  return SCENARIOS.map(
    ({ name, does, passesWhen }) =>
      `  ${name.padEnd(width)}  ${does};\n  ${' '.repeat(width)}  passes when ${passesWhen}\n`,
  ).join('');
}
