// The results as Markdown, for the summary that CI systems show beside a job.
import { escaped } from './html-text.js';
import { countsOf, hasFailed, type RunStory } from './runs.js';

/** A longer summary is dropped by some systems as a whole; in bytes. */
const LARGEST = 64 * 1024;

/** Makes it: one line, a table, and the evidence of failures. */
export function markdownSummary(runs: readonly RunStory[]): string {
  const text = runs.map(oneRun).join('\n');
  if (Buffer.byteLength(text) <= LARGEST) return text;
  const cut = Buffer.from(text)
    .subarray(0, LARGEST - 200)
    .toString('utf8');
  return `${cut.slice(0, cut.lastIndexOf('\n'))}\n\nThe rest is left out, because summaries are limited; see the report.\n`;
}

function oneRun(story: RunStory): string {
  const { passed, failed, skipped } = countsOf(story);
  const { label, command, tool } = story.run;
  const head = `### ${hasFailed(story) ? '❌' : '✅'} ${inLine(label)}: ${passed} passed, ${failed} failed, ${skipped} skipped`;
  const rows = story.scenarios.map(({ name, verdict }) =>
    verdict === undefined
      ? `| ${inLine(name)} | not over | | |`
      : `| ${inLine(name)} | ${SIGNS[verdict.verdict]} ${verdict.verdict} | ${verdict.code} | ${verdict.seconds.toFixed(1)} s |`,
  );
  const broken = story.scenarios.flatMap(({ name, verdict }) =>
    verdict?.verdict === 'failed'
      ? [`<details><summary>${escaped(name)}: ${verdict.code}</summary>\n\n${inLine(verdict.evidence)}\n\n</details>\n`]
      : [],
  );
  const what = command.length === 0 ? 'a plugin that ran already' : `<code>${escaped(command.join(' '))}</code>`;
  return [
    head,
    '',
    '| scenario | verdict | code | took |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    ...broken,
    `${what}, plugin-broker ${inLine(tool)}`,
    '',
  ].join('\n');
}

const SIGNS = { passed: '✅', failed: '❌', skipped: '➖' } as const;

/** Text of others on one line of Markdown: nothing of it is markup. */
function inLine(text: string): string {
  return escaped(text.replaceAll(/\s+/g, ' ')).replaceAll(/[\\`*_[\]|~]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
