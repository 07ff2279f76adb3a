// One result of several runs of a scenario.
import type { ScenarioResult } from './verdict.js';

/**
 * The worst of them, with the spread: one failure is a failure, as nobody can rely on such a plugin. Runs that were skipped say
 * nothing, so that beside passed ones the whole is skipped, with their reason.
 *
 * @param results of the same scenario, at least one, in the order of the runs
 */
export function agreed(results: readonly ScenarioResult[]): ScenarioResult {
  const [first] = results;
  if (first === undefined) throw new Error('a scenario that was not run has no result');
  if (results.length === 1) return first;
  const worst =
    results.find(({ verdict }) => verdict === 'failed') ??
    results.find(({ verdict }) => verdict === 'skipped') ??
    first;
  const times = results.map(({ seconds }) => seconds);
  const spread = `${results.length} runs, ${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)} s`;
  const same = results.filter(({ verdict, code }) => verdict === worst.verdict && code === worst.code).length;
  const middle = [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? worst.seconds;
  const said = same === results.length ? spread : `${spread}; ${same} of them ${worst.verdict} with this`;
  return { ...worst, seconds: middle, evidence: `${worst.evidence} (${said})` };
}
