// The whole program with real plugins. Runs wait most of their time, so they share it.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { junitProblems } from '../support/junit-schema.js';
import { start } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';
import { inShell, simCommand, verified, VerifyRun } from '../support/verifying.js';
import { LARGEST_REPORT } from '../../src/verify/report/html.js';
import { STYLES, WELL_BEHAVED } from '../support/verify-styles.js';

const words = (...lines: readonly string[]): string => lines.join('\n');

/** An executable file with a script in it. */
function script(...lines: readonly string[]): string {
  const file = path.join(tempDir(), 'plugin');
  writeFileSync(file, words('#!/bin/sh', ...lines, ''));
  chmodSync(file, 0o755);
  return file;
}

describe('verify', { concurrency: 9 }, () => {
  // The whole table, every style through every scenario, is in test/verify/.
  for (const { what, options, telling, differs } of STYLES) {
    it(`tells a plugin ${what} from others, with evidence, exit code and a JUnit report`, async () => {
      const expected = { ...WELL_BEHAVED, ...differs }[telling];
      const { scenarios, code, junit, stderr } = await verified(['--scenario', telling], simCommand(...options));
      assert.deepEqual([scenarios.length, scenarios[0]?.name], [1, telling], stderr);
      assert.match(scenarios[0]?.evidence ?? '', expected?.evidence ?? /^$/);
      assert.equal(scenarios[0]?.verdict, expected?.verdict);
      assert.equal(code, expected?.verdict === 'failed' ? 1 : 0);
      assert.deepEqual(await junitProblems(junit), []);
    });
  }

  it('says that a command does not exist, or may not be run, before it starts anything', async () => {
    const text = path.join(tempDir(), 'text');
    writeFileSync(text, '', { mode: 0o644 });
    const wrong = [
      { command: ['./no-such-plugin'], says: /^plugin-broker: the command \.\/no-such-plugin does not exist: / },
      { command: ['no-such-plugin'], says: /^plugin-broker: the command no-such-plugin does not exist: .* PATH\n$/ },
      { command: [text], says: /^plugin-broker: \S+\/text cannot be started: it is not executable / },
    ];
    for (const { command, says } of wrong) {
      const { code, stderr, stdout } = await verified([], command);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, says);
    }
  });

  it('says that a command ends at once, how often, and its last words', async () => {
    const plugin = script('echo cannot open the device >&2', 'exit 3');
    const { scenarios, code } = await verified(['--scenario', 'first-list', 'restart-clean'], [plugin]);
    const [first, second] = scenarios;
    assert.match(
      first?.evidence ?? '',
      /^the command ended with code 3 after \d+ ms, before it registered, each of the \d+ times that it was started; its last words: cannot open the device$/,
    );
    assert.deepEqual([first?.verdict, second?.verdict, code], ['failed', 'skipped', 1]);
    assert.equal(second?.evidence, 'not run: first-list comes first, and it failed');
  });

  it('says that a command never registers, and how it learns where', async () => {
    const { scenarios, code } = await verified(['--scenario', 'reboot'], [script('exec sleep 1000')]);
    assert.deepEqual([scenarios.map(({ verdict }) => verdict), code], [['failed'], 1]);
    assert.match(
      scenarios[0]?.evidence ?? '',
      /^it runs, but neither called Register nor made a socket within 10 s; tell it where its registry is with \{devicePlugins\} /,
    );
  });

  it('takes what a plugin writes without end, and says how much it was', async () => {
    const flood = `yes x | tr -d '\\n' | head -c 20000000; exec ${inShell(simCommand())}`;
    const [report, record] = ['r.html', 'r.jsonl'].map((name) => path.join(tempDir(), name)) as [string, string];
    const options = ['--scenario', 'first-list', '--report', report, '--events', record];
    const { scenarios, code } = await verified(options, ['sh', '-c', flood]);
    assert.match(scenarios[0]?.evidence ?? '', / \(it wrote 20 MB, of which the end is kept\)$/);
    assert.deepEqual([scenarios[0]?.verdict, code], ['passed', 0]);
    for (const file of [report, record]) assert.ok(statSync(file).size <= LARGEST_REPORT, file);
  });

  it('says that a command detaches, and ends what it left behind', async () => {
    const detaching = `setsid ${inShell(simCommand())} >&2 & exit 0`;
    const run = new VerifyRun(['--scenario', 'first-list'], ['sh', '-c', detaching]);
    const { stdout, code } = await run.running.ended;
    assert.match(
      stdout,
      /^failed +first-list .* the command ended with code 0 after \d+ ms and left process \d+ \(.+\) behind: it forks and detaches; /,
    );
    assert.equal(code, 1);
    await eventually('nothing is left', () => run.processes.length === 0);
    assert.deepEqual(run.files, []);
  });

  for (const name of ['late-socket', 'overlap', 'frozen']) {
    it(`leaves no process and no file behind after Ctrl-C in ${name}`, async () => {
      const run = new VerifyRun(['--scenario', name], simCommand());
      await run.inScenario();
      run.running.child.kill('SIGINT');
      assert.equal((await run.running.ended).code, 130);
      await eventually('nothing is left', () => run.processes.length === 0);
      assert.deepEqual(run.files, []);
    });
  }

  it('is no broker that outlives it when it is killed', async () => {
    const run = new VerifyRun(['--scenario', 'frozen'], ['sleep', '5']);
    const isBroker = (): boolean => existsSync(path.join(run.folder, run.files[0] ?? '', 'broker.sock'));
    await eventually('the broker runs', isBroker);
    run.running.child.kill('SIGKILL');
    await run.running.ended;
    await eventually('it is gone', () => run.processes.length === 0, { withinMs: 20_000 });
  });

  it('shows the timeline and the last words of a plugin that failed, in plain lines', async () => {
    const run = new VerifyRun(['--scenario', 'restart-clean'], simCommand('--watch', 'never'));
    const { stdout, code } = await run.running.ended;
    assert.equal(code, 1);
    assert.match(stdout, /^failed {3}restart-clean +\d+\.\d s {2}it did not register again within 10 s/);
    assert.match(stdout, /^ +\d+\.\d{3} {2}verify {2}stopped the broker$/m);
    assert.match(stdout, /^ +\d+\.\d{3} {2}broker {2}example\.com\/sim is ready: registered \[registered\]$/m);
    assert.match(stdout, /^ {4}\{"time":.*"event":"registered"/m);
    assert.match(stdout, /\n0 passed, 1 failed, 0 skipped\n$/);
  });

  it('judges a plugin that runs already, and leaves it running', async () => {
    const root = tempDir();
    const run = new VerifyRun(['--attach', '--root', root, '--scenario', 'restart-nowipe', 'overlap'], []);
    await eventually('its registry is there', () => existsSync(path.join(root, 'device-plugins', 'kubelet.sock')));
    const plugin = start(['sim', 'device', '--root', root]);
    try {
      const { stdout, code } = await run.running.ended;
      assert.match(stdout, /^passed +restart-nowipe .* served again /m);
      assert.match(stdout, /^skipped +overlap .* a plugin that runs already cannot be started a second time$/m);
      assert.equal(code, 0);
      assert.deepEqual([plugin.child.exitCode, run.files], [null, []]);
    } finally {
      plugin.child.kill();
      await plugin.ended;
    }
  });
});
