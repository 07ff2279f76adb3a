// Every style of plugin through every scenario. PB_RUNS repeats each run; PB_LOAD keeps so many cores busy meanwhile.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { STYLES, WELL_BEHAVED } from '../support/verify-styles.js';
import { simCommand, verified } from '../support/verifying.js';

const RUNS = Number(process.env['PB_RUNS'] ?? 1);
const LOAD = Number(process.env['PB_LOAD'] ?? 1);
/** A well-behaved plugin is done with by then, with one core kept busy, too. */
const MOST_SECONDS = 60;

void describe('verify', () => {
  const busy = Array.from({ length: LOAD }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  before(() => assert.ok(busy.every(({ pid }) => pid !== undefined)));
  after(() => busy.forEach((child) => child.kill('SIGKILL')));

  for (const { what, options, differs } of STYLES) {
    const expected = { ...WELL_BEHAVED, ...differs };
    const isWell = Object.values(differs).every(({ verdict }) => verdict === 'passed');
    for (let run = 1; run <= RUNS; run += 1) {
      void it(`gives a plugin ${what} its verdicts, run ${String(run)} of ${String(RUNS)}`, async () => {
        const startedAt = performance.now();
        const { scenarios, code, stderr } = await verified([], simCommand(...options));
        const seconds = (performance.now() - startedAt) / 1000;
        assert.deepEqual(
          scenarios.map(({ name, verdict, evidence }) =>
            expected[name]?.evidence.test(evidence) === true ? `${name} ${verdict}` : `${name} ${verdict}: ${evidence}`,
          ),
          Object.entries(expected).map(([name, { verdict }]) => `${name} ${verdict}`),
          stderr,
        );
        assert.equal(code, scenarios.some(({ verdict }) => verdict === 'failed') ? 1 : 0);
        if (isWell) assert.ok(seconds <= MOST_SECONDS, `${seconds.toFixed(1)} s`);
      });
    }
  }
});
