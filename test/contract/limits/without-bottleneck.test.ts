import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const SUITE = fileURLToPath(new URL('flood-on-bottleneck.test.js', import.meta.url));
const asModule = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;

/** Takes every job and never runs one. */
const IDLE = asModule(`
  export default class {
    static strategy = { OVERFLOW: 2 };
    schedule() { return new Promise(() => {}); }
    stop() { return Promise.resolve(); }
  }`);
const HOOKS = asModule(`
  export const resolve = (wanted, context, next) =>
    wanted === 'bottleneck/light.js' ? { url: ${JSON.stringify(IDLE)}, shortCircuit: true } : next(wanted, context);`);
const REGISTER = asModule(`
  import { register } from 'node:module';
  register(${JSON.stringify(HOOKS)});`);

/** The limits whose tests pass, and those whose tests fail. */
function outcome(...options: string[]): { passed: string[]; failed: string[] } {
  const env = { ...process.env };
  delete env['NODE_TEST_CONTEXT'];
  const run = spawnSync(process.execPath, [...options, '--test-reporter=tap', SUITE], { env, timeout: 60_000 });
  const lines = run.stdout.toString().split('\n');
  const named = (verdict: RegExp): string[] => lines.flatMap((line) => verdict.exec(line)?.[1] ?? []).sort();
  return { passed: named(/^ +ok \d+ - ([\w.]+):/), failed: named(/^ +not ok \d+ - ([\w.]+):/) };
}

describe('a Bottleneck that never runs a job', () => {
  it('fails the flood suite in each limit in which somebody waits, and in no other', () => {
    assert.deepEqual(outcome('--import', REGISTER), {
      passed: ['connections'],
      failed: ['global.register', 'register', 'updates'],
    });
  });

  it('is the only difference', () => {
    assert.deepEqual(outcome(), { passed: ['connections', 'global.register', 'register', 'updates'], failed: [] });
  });
});
