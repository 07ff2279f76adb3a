import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseRecord, RecordProblem, type RecordLine, type RecordOf } from '../../../src/verify/record.js';
import { baselineOf, compare, parseBaseline } from '../../../src/verify/report/baseline.js';
import { htmlReport, LARGEST_REPORT } from '../../../src/verify/report/html.js';
import { hasFailed, runsOf, type RunStory } from '../../../src/verify/report/runs.js';
import { markdownSummary } from '../../../src/verify/report/summary.js';
import { agreed } from '../../../src/verify/repeated.js';
import { SCENARIOS } from '../../../src/verify/scenarios.js';
import type { ScenarioResult, Verdict, VerdictCode } from '../../../src/verify/verdict.js';

const RUN: RecordOf<'run'> = {
  kind: 'run',
  v: 1,
  ...{ tool: '0.2.0', at: '2026-11-01T10:00:00.000Z', command: ['./plugin', '<b>'] },
  profile: 'broker',
  label: 'v1',
  resources: ['vendor.example/gpu'],
  door: 'register',
};
const begin = (s: string): RecordLine => ({
  kind: 'begin',
  s,
  at: RUN.at,
  does: 'does',
  passesWhen: 'it passes',
  run: 1,
});
const verdict = (s: string, is: Verdict, code: VerdictCode = 'ok', seconds = 1, warn = false): RecordLine => ({
  ...{ kind: 'verdict', s, t: 1000, verdict: is, code, seconds, evidence: `${s} was ${is}`, at: [1000], warn },
});
const story = (...lines: RecordLine[]): RunStory => {
  const [run] = runsOf([RUN, ...lines]);
  assert.ok(run !== undefined);
  return run;
};
const MENDS = new Map(SCENARIOS.map(({ name, mend }) => [name, mend]));

describe('a record', () => {
  it('is read again line by line, without kinds of a later version and without a last line that was cut off', () => {
    const lines = [RUN, begin('reboot'), { kind: 'later', x: 1 }, verdict('reboot', 'passed')];
    const text = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"kind":"no`;
    assert.deepEqual(
      parseRecord(text, 'e').map(({ kind }) => kind),
      ['run', 'begin', 'verdict'],
    );
  });

  it('that is none, or of a newer version, is refused with its line', () => {
    const bad = [
      '',
      'text\n',
      '{}\n',
      `${JSON.stringify({ ...RUN, v: 2 })}\n`,
      `${JSON.stringify(RUN)}\n{"kind":"span"}\n`,
    ];
    for (const text of bad) assert.throws(() => parseRecord(text, 'e.jsonl'), RecordProblem, text);
    assert.throws(() => parseRecord(bad[4] ?? '', 'e.jsonl'), /^RecordProblem: e\.jsonl, line 2: /);
  });

  it('reads what earlier versions wrote, which say less', () => {
    const run = {
      kind: 'run',
      v: 1,
      tool: '0.1.0',
      at: '2026-01-01T00:00:00Z',
      command: [],
      profile: 'broker',
      label: 'a',
    };
    const event = { type: 'state', reason: '', plugin: 'p', socket: '', message: 'm' };
    const text = [
      run,
      { kind: 'call', s: 'hang', t: 1, door: 'register', resource: 'p', fate: 'held' },
      { kind: 'event', s: 'hang', t: 2, event },
      { kind: 'log', s: 'hang', t: 3, from: 'broker', text: 'words' },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');
    const [first, call, told, log] = parseRecord(text, 'e.jsonl');
    assert.deepEqual(first, { ...run, resources: [] });
    assert.deepEqual(call?.kind === 'call' && call.ms, 0);
    assert.deepEqual(told?.kind === 'event' && told.event, { ...event, time: '' });
    assert.deepEqual(log?.kind === 'log' && log.stream, 'out');
  });
});

describe('the report', () => {
  it('changes nothing of its markup with any output of a plugin', () => {
    const markup = (text: string): string =>
      htmlReport([story(begin('reboot'), log(text), verdict('reboot', 'failed', 'late'))], MENDS);
    const tags = (page: string): readonly string[] => page.match(/<[^>]*>/g) ?? [];
    const plain = tags(markup('x')).length;
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(
            '<',
            '>',
            '"',
            "'",
            '&',
            '\0',
            '\u001b[31m',
            '</pre>',
            '<script>',
            '\u202e',
            '-->',
            'a',
          ),
        }),
        (text) => {
          const page = markup(`${text}.`);
          assert.equal(tags(page).length, plain);
          assert.doesNotMatch(page, /[\0\u001b\u202e]/);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('loads nothing and runs nothing', () => {
    const page = htmlReport([story(begin('reboot'), verdict('reboot', 'passed'))], MENDS);
    assert.doesNotMatch(page, /<script|\son\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg)|<img|url\(/);
    assert.match(page, /default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'/);
  });

  it('stays within its size for many runs with much output, and says what is left out', () => {
    const loud = SCENARIOS.flatMap(({ name }) => [
      begin(name),
      log('<'.repeat(60_000), name),
      verdict(name, 'failed', 'late'),
    ]);
    const page = htmlReport(
      Array.from({ length: 4 }, () => story(...loud)),
      MENDS,
    );
    assert.ok(Buffer.byteLength(page) <= LARGEST_REPORT, String(Buffer.byteLength(page)));
    assert.match(page, /characters are left out here/);
  });

  it('has about ten marks on its axis, whatever times a record names', () => {
    const last: RecordLine = { ...verdict('a', 'passed'), t: 20_000_000_000 } as RecordLine;
    const page = htmlReport([story(begin('a'), last)], MENDS);
    assert.ok((page.match(/text-anchor="middle"/g) ?? []).length <= 12);
  });

  it('shows how a failed scenario is mended, and opens it', () => {
    const page = htmlReport([story(begin('reboot'), verdict('reboot', 'failed', 'late'))], MENDS);
    assert.match(page, /<details id="r0-reboot" open>/);
    assert.match(page, /How to mend it/);
  });
});

describe('the summary', () => {
  it('is one table with the evidence of what failed, and holds no markup of others', () => {
    const text = markdownSummary([
      story(begin('a'), verdict('a', 'passed'), begin('b'), verdict('b', 'failed', 'storm')),
    ]);
    assert.match(text, /^### ❌ v1: 1 passed, 1 failed, 0 skipped\n/);
    assert.match(text, /\| b \| ❌ failed \| storm \| 1\.0 s \|/);
    assert.match(text, /<details><summary>b: storm<\/summary>\n\nb was failed\n/);
    assert.match(text, /<code>\.\/plugin &lt;b&gt;<\/code>/);
  });

  it('is of a record that others may have written: names of scenarios are no markup either', () => {
    const text = markdownSummary([story(begin('<img src=x>|'), verdict('<img src=x>|', 'passed'))]);
    assert.match(text, /\| &lt;img src=x&gt;&#124; \| ✅ passed/);
  });

  it('stays below what CI systems take', () => {
    const many = Array.from({ length: 3_000 }, (_, index) => `s${index}`);
    const text = markdownSummary([story(...many.flatMap((s) => [begin(s), verdict(s, 'failed', 'late')]))]);
    assert.ok(Buffer.byteLength(text) <= 64 * 1024);
    assert.match(text, /The rest is left out/);
  });
});

describe('a comparison with a baseline', () => {
  const before = baselineOf(story(begin('a'), verdict('a', 'passed'), begin('b'), verdict('b', 'failed', 'late')));

  it('says nothing of a run against its own baseline', () => {
    const now = story(begin('a'), verdict('a', 'passed'), begin('b'), verdict('b', 'failed', 'late'));
    assert.deepEqual(compare(before, now), { regressions: [], repairs: [], notes: [] });
  });

  it('tells regressions from repairs, and from what only differs', () => {
    const now = story(
      ...[begin('a'), verdict('a', 'failed', 'storm'), begin('b'), verdict('b', 'passed', 'ok', 9)],
      ...[begin('c'), verdict('c', 'failed', 'late')],
    );
    const { regressions, repairs, notes } = compare(before, now);
    assert.deepEqual(regressions, ['a: failed (storm), was passed (ok): a was failed']);
    assert.deepEqual(repairs, ['b: passed (ok), was failed (late)']);
    assert.deepEqual(notes, ['c: failed (late) is new']);
  });

  it('notes a failure that only warns: it does not fail the run here either', () => {
    const now = story(begin('a'), verdict('a', 'failed', 'storm', 1, true), begin('b'), verdict('b', 'failed', 'late'));
    const { regressions, notes } = compare(before, now);
    assert.deepEqual(regressions, []);
    assert.deepEqual(notes, ['a: failed (storm), was passed (ok), and only warns: a was failed']);
  });

  it('notes what takes much longer, and what was not run', () => {
    const { notes } = compare(before, story(begin('a'), verdict('a', 'passed', 'ok', 3)));
    assert.deepEqual(notes, ['a took 3.0 s, before 1.0 s', 'b was not run']);
  });

  it('reads what it wrote, and refuses what is no baseline', () => {
    assert.deepEqual(parseBaseline(JSON.stringify(before), 'b.json'), before);
    assert.match(parseBaseline('{', 'b.json') as string, /^b\.json is no JSON/);
    assert.match(parseBaseline('{"schema":"x"}', 'b.json') as string, /^b\.json is no baseline \(schema/);
  });
});

describe('a run', () => {
  it('does not fail by a scenario that only warns', () => {
    assert.equal(hasFailed(story(begin('a'), verdict('a', 'failed', 'late', 1, true))), false);
    assert.equal(hasFailed(story(begin('a'), verdict('a', 'failed', 'late'))), true);
  });

  it('shows the worst of a scenario that was repeated', () => {
    const { scenarios } = story(begin('a'), verdict('a', 'failed', 'late'), begin('a'), verdict('a', 'passed'));
    assert.deepEqual([scenarios.length, scenarios[0]?.verdict?.verdict], [1, 'failed']);
  });
});

describe('a repeated scenario', () => {
  const of = (is: Verdict, code: VerdictCode, seconds: number): ScenarioResult => ({
    ...{ name: 'a', verdict: is, code, seconds, startedAt: 0, evidence: 'seen', at: [], timeline: [], output: '' },
  });

  it('shows the spread where its verdicts agree', () => {
    const {
      verdict: is,
      seconds,
      evidence,
    } = agreed([of('passed', 'ok', 3), of('passed', 'ok', 1), of('passed', 'ok', 2)]);
    assert.deepEqual([is, seconds, evidence], ['passed', 2, 'seen (3 runs, 1.0 to 3.0 s)']);
  });

  it('fails where they do not, and says how often', () => {
    const { verdict: is, code, evidence } = agreed([of('passed', 'ok', 1), of('failed', 'late', 9)]);
    assert.deepEqual(
      [is, code, evidence],
      ['failed', 'late', 'seen (2 runs, 1.0 to 9.0 s; 1 of them failed with this)'],
    );
  });
});

function log(text: string, s = 'reboot'): RecordLine {
  return { kind: 'log', s, t: 1, from: 'plugin', stream: 'out', text };
}
