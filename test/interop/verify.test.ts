import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { run } from '../support/program.js';
import type { Program } from '../support/child.js';
import { buildGo, python } from './support/programs.js';
import { missing } from './support/tools.js';
import { SCENARIOS } from '../../src/verify/scenarios.js';

interface Report {
  readonly scenarios: readonly { readonly name: string; readonly verdict: string; readonly evidence: string }[];
}

/** The outcome of `verify`: its exit code, and the names of the scenarios by verdict. */
interface Verdicts {
  readonly code: number | null;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  readonly passed: number;
}

const ALL = SCENARIOS.length;

/** Runs all scenarios against a plugin. */
async function verify(options: readonly string[], plugin: Program, ...flags: readonly string[]): Promise<Verdicts> {
  const command = [plugin.command, ...plugin.args, ...flags];
  const { code, stdout, stderr } = await run(['verify', '-o', 'json', ...options, '--', ...command], plugin.env);
  assert.notEqual(stdout, '', stderr);
  const { scenarios } = JSON.parse(stdout) as Report;
  for (const { name, verdict, evidence } of scenarios) {
    if (verdict === 'failed') console.error(`${name}: ${evidence}`);
    assert.notEqual(evidence, '', name);
  }
  const named = (wanted: string): string[] =>
    scenarios.filter(({ verdict }) => verdict === wanted).map(({ name }) => name);
  return { code, failed: named('failed').sort(), skipped: named('skipped'), passed: named('passed').length };
}

describe('verify judges a Go plugin', { skip: missing('go') }, () => {
  let plugin: Program;
  before(() => {
    plugin = buildGo().plugin;
  });

  it('that watches kubelet.sock and its own socket: it survives everything', async () => {
    assert.deepEqual(await verify([], plugin, '--watch', '--dir', '{devicePlugins}'), {
      code: 0,
      failed: [],
      skipped: ['notify-false'],
      passed: ALL - 1,
    });
  });

  it('that waits in the registry: it survives everything', async () => {
    assert.deepEqual(await verify([], plugin, '--door', 'watcher', '--watch', '--dir', '{registry}'), {
      code: 0,
      failed: [],
      skipped: ['sock-only'],
      passed: ALL - 1,
    });
  });

  it('that watches nothing: it is lost whenever its socket is deleted', async () => {
    const failed = ['dir-recreate', 'restart-clean', 'unlink-only'];
    assert.deepEqual(await verify([], plugin, '--dir', '{devicePlugins}'), {
      code: 1,
      failed,
      skipped: ['notify-false'],
      passed: ALL - 1 - failed.length,
    });
  });
});

describe(
  'verify judges a Go plugin whose handlers outlive their streams and compete for one channel',
  { skip: missing('go') },
  () => {
    it('by what becomes of it: its socket is removed, and it does not come back', async () => {
      const { kubevirt } = buildGo();
      const options = ['--scenario', 'stream-break', '--profile', 'broker'];
      const { failed, passed } = await verify(options, kubevirt, '--dir', '{devicePlugins}');
      assert.deepEqual([failed, passed], [['stream-break'], 0]);
    });
  },
);

describe('verify judges a Python plugin', { skip: missing('python') }, () => {
  it('that has the path of the kubelet built in, through --bind: it survives everything', async () => {
    assert.deepEqual(await verify(['--bind'], python('plugin.py'), '--watch'), {
      code: 0,
      failed: [],
      skipped: ['notify-false'],
      passed: ALL - 1,
    });
  });
});
