// `verifyPlugin`: the command `verify` for programs.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { programFile } from '../platform/process/program-file.js';
import type { RunFacts } from './run-line.js';
import { runVerify, whyNotStarted } from './run-verify.js';
import { SCENARIOS } from './scenarios.js';
import type { ScenarioResult } from './verdict.js';

/** The scenarios to verify, and how. */
export interface VerifyOptions {
  /** The plugin's command; {devicePlugins}, {registry}, {plugins}, {kubeletSocket} become the directories that it is to use. */
  readonly command: readonly string[];
  /** Its environment, ours unless said; names in braces in its values are filled in, too. */
  readonly env?: NodeJS.ProcessEnv;
  /** Lets it see the directories at /var/lib/kubelet, in a mount namespace of its own. */
  readonly bind?: boolean;
  /** Names of scenarios; all unless said. */
  readonly scenarios?: readonly string[];
  /** Ends it, with its reason. */
  readonly signal?: AbortSignal;
  /** Hears each line of the record (docs/verify.md): that of the run first, when the plugin came up, then as it happens. */
  readonly on?: (line: VerifyLine) => void;
}

/** One line of the record: `kind` names its form. */
export interface VerifyLine {
  readonly kind: string;
  readonly [key: string]: unknown;
}

/** The judgement of one scenario. */
export interface VerifyResult {
  readonly scenario: string;
  readonly verdict: 'passed' | 'failed' | 'skipped';
  /** A code of docs/verify.md; new ones come with minor versions. */
  readonly code: string;
  readonly seconds: number;
  /** The observation, in one sentence. */
  readonly evidence: string;
  /** The last that the plugin wrote. */
  readonly output: string;
}

/** The result of a plugin. */
export interface VerifyReport {
  /** No scenario failed. */
  readonly passed: boolean;
  readonly results: readonly VerifyResult[];
}

/**
 * Runs a plugin through the scenarios of `verify`. Nothing of it is left behind in any case.
 *
 * @throws TypeError for a command or a scenario that does not exist; the signal's reason
 */
export async function verifyPlugin(options: VerifyOptions): Promise<VerifyReport> {
  const { command, env = process.env, bind = false, scenarios, signal, on } = options;
  const unknown = scenarios?.find((wanted) => !SCENARIOS.some(({ name }) => name === wanted));
  if (unknown !== undefined)
    throw new TypeError(`there is no scenario ${unknown}: ${SCENARIOS.map(({ name }) => name).join(', ')}`);
  if (command.length === 0) throw new TypeError('the command of the plugin is missing');
  const label = path.basename(command[0] ?? '');
  const at = new Date().toISOString();
  const program = programFile();
  const run: RunFacts = { tool: versionOf(program), at, command: [...command], profile: 'broker', label };
  try {
    const results = await runVerify(
      {
        scenarios: SCENARIOS.filter(({ name }) => scenarios?.includes(name) ?? true),
        warns: new Set<string>(),
        repeat: 1,
        isFailFast: false,
        profile: 'broker',
        command,
        env,
        isBound: bind,
        attachedRoot: undefined,
        program: [process.execPath, program],
        record: on && { run, write: (line) => on(line) },
      },
      { began: () => undefined, step: () => undefined, ended: () => undefined },
      signal ?? new AbortController().signal,
    );
    return { passed: results.every(({ verdict }) => verdict !== 'failed'), results: results.map(resultOf) };
  } catch (thrown) {
    const why = whyNotStarted(thrown);
    throw why === undefined ? thrown : new TypeError(why, { cause: thrown });
  }
}

function versionOf(program: string): string {
  const text = readFileSync(path.join(path.dirname(program), '../package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

function resultOf({ name, verdict, code, seconds, evidence, output }: ScenarioResult): VerifyResult {
  return { scenario: name, verdict, code, seconds, evidence, output };
}
