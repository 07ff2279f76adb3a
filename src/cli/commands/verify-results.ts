// The output of `verify` after its last scenario.
import { visible } from '../../kernel/visible.js';
import { timelineText } from '../../verify/junit.js';
import { SCENARIOS } from '../../verify/scenarios.js';
import type { ScenarioResult } from '../../verify/verdict.js';
import { visibleJson } from '../output/text.js';
import type { Paint } from '../output/tones.js';

/** Lines of a plugin's output that are shown of a failed scenario. */
const OUTPUT_LINES = 40;

/** Everything about the scenarios that failed, then the sum. */
export function resultsText(results: readonly ScenarioResult[], warns: ReadonlySet<string>, paint: Paint): string {
  const count = (verdict: ScenarioResult['verdict']): number => results.filter((one) => one.verdict === verdict).length;
  const failed = results.filter(({ verdict }) => verdict === 'failed');
  const warnings = failed.filter(({ name }) => warns.has(name)).length;
  const told = failed.map((result) => failure(result, paint)).join('');
  const only = warnings === 0 ? '' : ` (${warnings} of them only a warning)`;
  return `${told}\n${count('passed')} passed, ${count('failed')} failed${only}, ${count('skipped')} skipped\n`;
}

/** The results for programs. Times within a timeline are milliseconds since the scenario began. */
export function jsonText(results: readonly ScenarioResult[]): string {
  const scenarios = results.map(({ name, verdict, code, seconds, startedAt, evidence, at, timeline }) => ({
    name,
    verdict,
    code,
    seconds,
    evidence,
    startedAt: new Date(startedAt).toISOString(),
    at: at.map((moment) => moment - startedAt),
    timeline: timeline.map(({ at: moment, who, what }) => ({ t: moment - startedAt, who, what })),
  }));
  return `${visibleJson({ scenarios }, false)}\n`;
}

function failure({ name, code, evidence, timeline, output }: ScenarioResult, paint: Paint): string {
  const lines = output.trimEnd().split('\n');
  const shown = lines.slice(-OUTPUT_LINES).map((line) => `    ${visible(line)}\n`);
  const story = timelineText(timeline)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${visible(line)}\n`);
  const said = output === '' ? '' : `  ${paint('quiet', 'the last that it wrote:')}\n${shown.join('')}`;
  const head = `${paint('bad', `${name} failed`)} (${code}): ${visible(evidence)}`;
  return `\n${head}\n${story.join('')}${said}${mending(name, paint)}`;
}

/** How an author mends it: the paragraph; the lines of code stand in docs and in the report. */
function mending(name: string, paint: Paint): string {
  const how = SCENARIOS.find((scenario) => scenario.name === name)?.mend.how;
  return how === undefined ? '' : `  ${paint('quiet', 'how to mend it:')} ${how}\n`;
}
