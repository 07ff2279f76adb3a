// The results as JUnit XML, in the form that CI systems read (the schema of Apache Ant's junit task as Jenkins takes it).
import type { Moment, ScenarioResult } from './verdict.js';

/** Characters that XML 1.0 cannot hold in any form, lone surrogates among them. */
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** The subject of a report. */
export interface JunitSubject {
  /** The plugin's command, for the name of the suite. */
  readonly what: string;
  /** When it began; RFC 3339. */
  readonly at: string;
  /** Scenarios whose failure is a warning: they count as skipped, since JUnit knows no warning. */
  readonly warns?: ReadonlySet<string>;
  /** Files of each scenario, which GitLab and Jenkins show beside a test case. */
  readonly artifacts?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Makes the report. */
export function junit(all: readonly ScenarioResult[], { what, at, warns, artifacts }: JunitSubject): string {
  const results = all.map((one) => (warns?.has(one.name) === true ? warned(one) : one));
  const count = (verdict: ScenarioResult['verdict']): number => results.filter((one) => one.verdict === verdict).length;
  const time = results.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(1);
  const counts = { tests: results.length, failures: count('failed'), errors: 0, time };
  const suite = { name: what, ...counts, skipped: count('skipped'), timestamp: at.slice(0, 19) };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: 'plugin-broker verify', ...counts })}>`,
    `  <testsuite${attributes(suite)}>`,
    ...results.map((result) => testCase(result, artifacts?.get(result.name) ?? [])),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function warned(result: ScenarioResult): ScenarioResult {
  if (result.verdict !== 'failed') return result;
  return { ...result, verdict: 'skipped', evidence: `failed, which is a warning only: ${result.evidence}` };
}

function testCase(result: ScenarioResult, files: readonly string[]): string {
  const { name, verdict, code, seconds, evidence, timeline, output } = result;
  const open = `    <testcase${attributes({ classname: 'verify', name, time: seconds.toFixed(1) })}>`;
  const body: string[] = [];
  if (verdict === 'skipped') body.push(`<skipped${attributes({ message: evidence })}/>`);
  if (verdict === 'failed') {
    const story = timelineText(timeline);
    body.push(`<failure${attributes({ message: evidence, type: code })}>${escaped(story)}</failure>`);
  }
  const said = verdict === 'passed' ? [unattached(evidence)] : [];
  const out = [...said, ...files.map((file) => `[[ATTACHMENT|${file}]]`)].join('\n');
  if (out !== '') body.push(`<system-out>${escaped(out)}</system-out>`);
  if (verdict === 'failed' && output !== '') body.push(`<system-err>${escaped(unattached(output))}</system-err>`);
  return [open, ...body.map((line) => `      ${line}`), '    </testcase>'].join('\n');
}

/** A timeline as lines: seconds since its first moment, the actor, the fact. */
export function timelineText(timeline: readonly Moment[]): string {
  const from = timeline[0]?.at ?? 0;
  return timeline
    .map(({ at, who, what }) => `${((at - from) / 1000).toFixed(3).padStart(8)}  ${who.padEnd(6)}  ${what}\n`)
    .join('');
}

/** Text of others, in which nothing names a file that Jenkins or GitLab would fetch from the machine and publish. */
function unattached(text: string): string {
  return text.replaceAll(/\[(?=\[)/g, '[ ');
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(String(value)).replaceAll('\n', '&#10;')}"`)
    .join('');
}

function escaped(text: string): string {
  return text
    .replaceAll(NOT_XML, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;');
}
