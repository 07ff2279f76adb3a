import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { junit } from '../../../src/verify/junit.js';
import type { ScenarioResult } from '../../../src/verify/verdict.js';
import { junitProblems } from '../../support/junit-schema.js';

const AT = '2030-01-01T00:00:00.000Z';

/** Every UTF-16 code unit may come from a plugin: control characters, markup, halves of surrogate pairs. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('<', '>', '&', '"', "'", ']]>', '\n', '\r', '\t', '\0', '\u001b', '\ud800', '\udfff', '\uffff'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 20,
});
const result = (name: string): fc.Arbitrary<ScenarioResult> =>
  fc.record({
    name: fc.constant(name),
    verdict: fc.constantFrom('passed' as const, 'failed' as const, 'skipped' as const),
    seconds: fc.nat(1000).map((tenths) => tenths / 10),
    code: fc.constant('late' as const),
    startedAt: fc.constant(0),
    at: fc.constant([]),
    evidence: text.map((words) => `it ${words}`),
    timeline: fc.array(fc.record({ at: fc.nat(), who: fc.constant('broker' as const), what: text }), { maxLength: 3 }),
    output: text,
  });

describe('a JUnit report', () => {
  it('fits the schema with any output of a plugin', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(result('first-list'), result('refuse')), text, async (results, what) => {
        assert.deepEqual(await junitProblems(junit(results, { what: `plugin ${what}`, at: AT })), []);
      }),
      { numRuns: 25 },
    );
  });

  it('counts its cases', async () => {
    const of = (name: string, verdict: ScenarioResult['verdict']): ScenarioResult => ({
      ...{
        name,
        verdict,
        code: 'storm',
        startedAt: 0,
        at: [],
        seconds: 1.5,
        evidence: 'it did',
        timeline: [],
        output: 'words',
      },
    });
    const report = junit([of('a', 'passed'), of('b', 'failed'), of('c', 'skipped'), of('d', 'failed')], {
      what: './my-plugin',
      at: AT,
    });
    assert.match(report, /<testsuite name="\.\/my-plugin" tests="4" failures="2" errors="0" time="6\.0" skipped="1" /);
    assert.equal(report.match(/<failure message="it did" type="storm">/g)?.length, 2);
    assert.equal(report.match(/<system-err>words<\/system-err>/g)?.length, 2);
  });

  it('names no file because a plugin wrote that one is attached', () => {
    const words = '[[ATTACHMENT|/etc/shadow]] [[[ATTACHMENT|/etc/shadow]]] [[[[ATTACHMENT|/etc/shadow]]]]';
    const nothing = { code: 'storm', startedAt: 0, at: [], seconds: 1, timeline: [] } as const;
    const all: ScenarioResult[] = (['passed', 'failed'] as const).map((verdict) => ({
      ...{ ...nothing, name: verdict, verdict, evidence: words, output: words },
    }));
    const [, out = ''] = /<system-out>(.*?)<\/system-out>/s.exec(junit(all, { what: '', at: AT })) ?? [];
    const [, err = ''] = /<system-err>(.*?)<\/system-err>/s.exec(junit(all, { what: '', at: AT })) ?? [];
    assert.ok(out.includes('/etc/shadow') && err.includes('/etc/shadow'));
    assert.ok(!out.includes('[[ATTACHMENT') && !err.includes('[[ATTACHMENT'));
  });

  it('names the files of a scenario where GitLab and Jenkins look for them, and takes a warning for no failure', async () => {
    const of = (name: string, verdict: ScenarioResult['verdict']): ScenarioResult => ({
      ...{
        name,
        verdict,
        code: 'storm',
        startedAt: 0,
        at: [],
        seconds: 1.5,
        evidence: 'it <did>',
        timeline: [],
        output: '',
      },
    });
    const report = junit([of('a', 'passed'), of('b', 'failed')], {
      ...{ what: './my-plugin', at: AT, warns: new Set(['b']) },
      artifacts: new Map([['a', ['out/a/plugin.log', 'out/a/<b>.log']]]),
    });
    assert.match(
      report,
      /<system-out>it &lt;did&gt;\n\[\[ATTACHMENT\|out\/a\/plugin\.log\]\]\n\[\[ATTACHMENT\|out\/a\/&lt;b&gt;\.log\]\]</,
    );
    assert.match(report, /failures="0" .* skipped="1"/);
    assert.match(report, /<skipped message="failed, which is a warning only: it &lt;did&gt;"\/>/);
    assert.deepEqual(await junitProblems(report), []);
  });

  it('is refused by the schema when it is none', async () => {
    const report = junit([], { what: 'x', at: AT });
    assert.notDeepEqual(await junitProblems(report.replace('tests="0"', 'tests="many"')), []);
    assert.notDeepEqual(await junitProblems(report.replace('</testsuites>', '')), []);
  });
});
