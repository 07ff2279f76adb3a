// `verify`: a plugin, a broker of its own, and the scenarios that both go through.
import { findUnknown } from './braces.js';
import { runCampaign, type Campaign, type Progress } from './campaign.js';
import { BindProblem, tryBind } from './bind.js';
import { CommandProblem, findCommand } from './command.js';
import { makeDirectories, removeDirectories } from './directories.js';
import type { WriteLine } from './recorder.js';
import { RunLine, type RunFacts } from './run-line.js';
import type { ScenarioResult } from './verdict.js';
import { RigFactory } from './rig-factory.js';

/** The options of a run. */
export interface VerifyOptions extends Campaign {
  /** The plugin's command; empty for one that runs already. */
  readonly command: readonly string[];
  /** Its environment; names in braces in its values are filled in. */
  readonly env: NodeJS.ProcessEnv;
  readonly isBound: boolean;
  /** Where a plugin that runs already finds its registry. */
  readonly attachedRoot: string | undefined;
  /** The broker's program: node, and its arguments. */
  readonly program: readonly string[];
  /** Undefined where nobody wants a record. */
  readonly record?: Recording | undefined;
}

/** The record of a run. */
export interface Recording {
  readonly run: RunFacts;
  /** Takes its lines, that of the run first. */
  readonly write: WriteLine;
}

/**
 * Runs scenarios against a plugin. None of its processes and files are left behind in any case.
 *
 * @param signal ends it; its reason is thrown when everything is cleaned up
 * @throws CommandProblem or BindProblem before anything was started
 */
export async function runVerify(
  options: VerifyOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<readonly ScenarioResult[]> {
  const { command, env, isBound, attachedRoot, program, profile, record } = options;
  const unknown = findUnknown(command);
  if (unknown !== undefined) throw new CommandProblem(unknown);
  const [name, ...args] = command;
  const found = name === undefined ? undefined : { file: findCommand(name, env['PATH'] ?? ''), args };
  if (isBound) checkBind();
  const halt = new AbortController();
  const runLine = record && new RunLine(record.run, record.write);
  const rigFactory = new RigFactory({
    program,
    command: found,
    env,
    isBound,
    attachedRoot,
    profile,
    write: runLine?.take,
    signal: AbortSignal.any([signal, halt.signal]),
  });
  const abandon = (): void => rigFactory.abandon();
  process.once('exit', abandon);
  try {
    return await runCampaign(options, rigFactory, halt, progress, (plugins) => runLine?.begin(plugins));
  } finally {
    process.off('exit', abandon);
    rigFactory.close();
    runLine?.begin([]);
  }
}

function checkBind(): void {
  const directories = makeDirectories(undefined, true);
  try {
    tryBind(directories);
  } finally {
    removeDirectories(directories);
  }
}

/** Why nothing could be started, for the user of the command; undefined for every other failure. */
export function whyNotStarted(thrown: unknown): string | undefined {
  return thrown instanceof CommandProblem || thrown instanceof BindProblem ? thrown.message : undefined;
}
