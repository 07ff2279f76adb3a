// `verify`: somebody's plugin, a broker of its own, and what becomes of them.
import { runCampaign, type Progress } from './campaign.js';
import { BindProblem, tryBind } from './bind.js';
import { CommandProblem, findCommand } from './command.js';
import { makePlaces, removePlaces } from './places.js';
import type { Scenario } from './scenario.js';
import type { ScenarioResult } from './verdict.js';
import { Workshop } from './workshop.js';

/** What is to be done. */
export interface VerifyOptions {
  readonly scenarios: readonly Scenario[];
  /** The plugin's command; empty for one that runs already. */
  readonly command: readonly string[];
  readonly isBound: boolean;
  /** Where a plugin that runs already finds its registry. */
  readonly attachedRoot: string | undefined;
  /** The broker's program: node, and what it is to run. */
  readonly program: readonly string[];
}

/**
 * Runs scenarios against a plugin. Whatever happens, none of its processes and files are left behind.
 *
 * @param signal ends it; its reason is thrown when everything is cleaned up
 * @throws CommandProblem or BindProblem before anything was started
 */
export async function verifyPlugin(
  { scenarios, command, isBound, attachedRoot, program }: VerifyOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<readonly ScenarioResult[]> {
  const [name, ...args] = command;
  const found = name === undefined ? undefined : { file: findCommand(name, process.env['PATH'] ?? ''), args };
  if (isBound) checkBind();
  const halt = new AbortController();
  const workshop = new Workshop({
    program,
    command: found,
    env: process.env,
    isBound,
    attachedRoot,
    signal: AbortSignal.any([signal, halt.signal]),
  });
  const abandon = (): void => workshop.abandon();
  process.once('exit', abandon);
  try {
    return await runCampaign(scenarios, workshop, halt, progress);
  } finally {
    process.off('exit', abandon);
    workshop.close();
  }
}

function checkBind(): void {
  const places = makePlaces(undefined, true);
  try {
    tryBind(places);
  } finally {
    removePlaces(places);
  }
}

/** Why nothing could be started, for whoever gave the command; undefined for every other failure. */
export function whyNotStarted(thrown: unknown): string | undefined {
  return thrown instanceof CommandProblem || thrown instanceof BindProblem ? thrown.message : undefined;
}
