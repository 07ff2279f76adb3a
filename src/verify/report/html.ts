// The report: one file that reads without style and script, and without anything from elsewhere.
import { createHash } from 'node:crypto';
import type { RecordLine } from '../record.js';
import type { Mend } from '../scenario.js';
import { VERDICT_CODES } from '../verdict.js';
import { escaped, headAndTail } from './html-text.js';
import { picture } from './picture.js';
import { countsOf, logOf, type RunStory, type ScenarioStory } from './runs.js';
import { STYLE } from './style.js';

/** The largest report, in bytes: more is left out of the logs, and reported. */
export const LARGEST_REPORT = 2 * 1024 * 1024;
/** Characters of the logs of one scenario, to begin with, and the least before moments are left out, too. */
const LOG_CHARACTERS = 64 * 1024;
const LEAST_CHARACTERS = 256;

/** How scenarios are mended, by their name. */
export type Mends = ReadonlyMap<string, Mend>;

/** Makes the report of one run or of several. */
export function htmlReport(runs: readonly RunStory[], mends: Mends): string {
  for (let log = LOG_CHARACTERS, moments = 300; ; log = Math.max(LEAST_CHARACTERS, log / 2)) {
    const page = pageOf(runs, mends, { log, moments });
    if (Buffer.byteLength(page) <= LARGEST_REPORT || (log === LEAST_CHARACTERS && moments === 0)) return page;
    if (log === LEAST_CHARACTERS) moments = Math.floor(moments / 2);
  }
}

interface Room {
  readonly log: number;
  readonly moments: number;
}

function pageOf(runs: readonly RunStory[], mends: Mends, room: Room): string {
  const title = runs.length === 1 ? 'plugin-broker verify' : `plugin-broker verify: ${runs.length} runs`;
  const hash = createHash('sha256').update(STYLE).digest('base64');
  const csp = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`;
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${csp}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<link rel="icon" href="data:,"><title>${title}</title><style>${STYLE}</style></head><body>`,
    `<header><h1>${title}</h1></header>`,
    navigation(runs),
    '<main>',
    runs.length > 1 ? comparison(runs) : '',
    ...runs.map((run, index) => section(run, index, runs.length > 1, mends, room)),
    '</main>',
    `<footer><p>Made by plugin-broker ${escaped(runs.at(-1)?.run.tool ?? '')}. Nothing in this file is loaded from elsewhere.</p></footer>`,
    '</body></html>',
    '',
  ].join('\n');
}

function navigation(runs: readonly RunStory[]): string {
  const links = runs.flatMap((story, index) =>
    story.scenarios.map(
      ({ name, verdict }) =>
        `<li><a href="#${anchor(index, name)}">${sign(verdict?.verdict)} ${escaped(name)}</a></li>`,
    ),
  );
  return `<nav aria-label="Scenarios"><ul>${links.join('')}</ul></nav>`;
}

/** Scenarios down, runs across. */
function comparison(runs: readonly RunStory[]): string {
  const names = [...new Set(runs.flatMap(({ scenarios }) => scenarios.map(({ name }) => name)))];
  const head = runs.map(({ run }) => `<th scope="col">${escaped(run.label)}</th>`).join('');
  const rows = names.map((name) => {
    const cells = runs.map(({ scenarios }) => {
      const verdict = scenarios.find((one) => one.name === name)?.verdict;
      return `<td>${verdict === undefined ? 'not run' : `${sign(verdict.verdict)} ${verdict.verdict} (${verdict.code})`}</td>`;
    });
    return `<tr><th scope="row">${escaped(name)}</th>${cells.join('')}</tr>`;
  });
  return `<section aria-labelledby="compared"><h2 id="compared">Side by side</h2><div class="wide" tabindex="0" role="region" aria-label="Runs side by side"><table><caption>The verdict on each scenario in each run</caption><thead><tr><th scope="col">scenario</th>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div></section>`;
}

function section(story: RunStory, index: number, isOneOfMany: boolean, mends: Mends, room: Room): string {
  const { run, scenarios } = story;
  const { passed, failed, skipped } = countsOf(story);
  const command = run.command.length === 0 ? 'a plugin that ran already' : run.command.join(' ');
  const rows = scenarios.map(({ name, verdict }) =>
    verdict === undefined
      ? `<tr><th scope="row"><a href="#${anchor(index, name)}">${escaped(name)}</a></th><td>not over</td><td></td><td></td><td></td></tr>`
      : `<tr><th scope="row"><a href="#${anchor(index, name)}">${escaped(name)}</a></th><td>${sign(verdict.verdict)} ${verdict.verdict}${verdict.warn && verdict.verdict === 'failed' ? ' (warning only)' : ''}</td><td>${verdict.code}</td><td>${verdict.seconds.toFixed(1)} s</td><td>${escaped(verdict.evidence)}</td></tr>`,
  );
  return [
    `<section aria-labelledby="run-${index}"><h2 id="run-${index}">${isOneOfMany ? escaped(run.label) : `${passed} passed, ${failed} failed, ${skipped} skipped`}</h2>`,
    `<dl><dt>Command</dt><dd><code>${escaped(command)}</code></dd><dt>Begun</dt><dd>${escaped(run.at)}</dd><dt>Judged by</dt><dd>${run.profile === 'kubelet' ? 'what a real kubelet does' : 'this broker'}, plugin-broker ${escaped(run.tool)}</dd></dl>`,
    `<div class="wide" tabindex="0" role="region" aria-label="Verdicts of ${escaped(run.label)}"><table><caption>Verdicts</caption><thead><tr><th scope="col">scenario</th><th scope="col">verdict</th><th scope="col">code</th><th scope="col">took</th><th scope="col">evidence</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`,
    ...scenarios.filter(({ begin }) => begin.does !== '').map((one) => scenario(one, index, mends, room)),
    '</section>',
  ].join('\n');
}

function scenario(story: ScenarioStory, index: number, mends: Mends, room: Room): string {
  const { name, begin, verdict } = story;
  const isFailed = verdict?.verdict === 'failed';
  const mend = mends.get(name);
  const said =
    verdict === undefined ? 'The run ended before there was a verdict.' : `${verdict.verdict}: ${verdict.evidence}.`;
  return [
    `<details id="${anchor(index, name)}"${isFailed ? ' open' : ''}><summary><h3>${sign(verdict?.verdict)} ${escaped(name)}</h3> ${verdict?.code ?? ''}</summary>`,
    `<p>${escaped(said)}</p>`,
    verdict === undefined ? '' : `<p class="quiet">${verdict.code}: ${escaped(VERDICT_CODES[verdict.code])}.</p>`,
    `<p class="quiet">It ${escaped(begin.does)}; it passes when ${escaped(begin.passesWhen)}.</p>`,
    picture(story, `${anchor(index, name)}-picture`),
    isFailed && mend !== undefined ? mending(mend) : '',
    moments(story, room.moments),
    logs(story, room.log),
    '</details>',
  ].join('\n');
}

/** An author's way to mend it. */
function mending({ how, go, python }: Mend): string {
  return `<h4>How to mend it</h4><p>${escaped(how)}</p><p>In Go:</p><pre tabindex="0"><code>${escaped(go)}</code></pre><p>In Python:</p><pre tabindex="0"><code>${escaped(python)}</code></pre>`;
}

function moments({ lines }: ScenarioStory, most: number): string {
  const told = lines.flatMap((line) => {
    const text = sentenceOf(line);
    return text === undefined || !('t' in line) ? [] : [`${(line.t / 1000).toFixed(3).padStart(8)}  ${text}`];
  });
  const shown = told.slice(0, most);
  if (told.length > most) shown.push(`… ${told.length - most} more are left out`);
  return `<details><summary>${told.length} moments</summary><pre tabindex="0">${escaped(shown.join('\n'))}</pre></details>`;
}

function sentenceOf(line: RecordLine): string | undefined {
  if (line.kind === 'note') return `${line.who.padEnd(7)} ${line.what}`;
  if (line.kind === 'event')
    return `broker  ${line.event.message}${line.event.reason === '' ? '' : ` [${line.event.reason}]`}`;
  if (line.kind === 'devices')
    return `broker  ${line.resource}: ${line.allocatable} of ${line.capacity}, ${line.state} (${line.reason})`;
  if (line.kind === 'call') return `plugin  ${line.resource} asked to be registered: ${line.fate}`;
  return undefined;
}

function logs(story: ScenarioStory, most: number): string {
  const sources = ['plugin', 'second', 'broker'] as const;
  return sources
    .map((from) => {
      const text = logOf(story, from);
      if (text === '') return '';
      const name = from === 'second' ? 'the second instance' : `the ${from}`;
      return `<details><summary>Output of ${name}</summary><pre tabindex="0">${escaped(headAndTail(text, most))}</pre></details>`;
    })
    .join('');
}

function anchor(index: number, name: string): string {
  return `r${index}-${name.replaceAll(/[^a-z0-9-]/gi, '-')}`;
}

/** A sign beside the word: colour alone would not do. */
function sign(verdict: string | undefined): string {
  return verdict === 'passed' ? '✓' : verdict === 'failed' ? '✗' : '–';
}
