// The files that a run writes besides its verdicts, as CI systems use them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { BrokerEvent } from '../../src/model/event.js';
import { run } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';
import { inShell, simCommand } from '../support/verifying.js';

const beside = (name: string): object =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, '../../../config', name), 'utf8')) as object;

interface Line {
  readonly kind: string;
  readonly [member: string]: unknown;
}

const linesOf = (file: string): readonly Line[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

describe('verify', { concurrency: 3 }, () => {
  it('records a run in lines of the published schema, without private paths and values of the environment', async () => {
    const folder = tempDir();
    const file = (name: string): string => path.join(folder, name);
    const talkative = `echo "token $SECRET_TOKEN in $TMPDIR"; exec ${inShell(simCommand())}`;
    const flags = [
      '--events',
      file('e.jsonl'),
      '--report',
      file('r.html'),
      '--artifacts',
      file('out'),
      '--label',
      'v1',
    ];
    const { code, stdout } = await run(
      ['verify', '--scenario', 'first-list', 'restart-kill', 'notify-false', ...flags, '--', 'sh', '-c', talkative],
      { SECRET_TOKEN: 'hunter2-hunter2', TMPDIR: folder },
    );
    assert.equal(code, 0, stdout);
    const isValid = new Ajv2020().compile(beside('verify-record.schema.json'));
    const lines = linesOf(file('e.jsonl'));
    for (const line of lines) assert.ok(isValid(line), `${JSON.stringify(line)}: ${JSON.stringify(isValid.errors)}`);
    const kinds = new Set(lines.map(({ kind }) => kind));
    const [first] = lines;
    assert.deepEqual([first?.kind, first?.['resources'], first?.['door']], ['run', ['example.com/sim'], 'register']);
    const events = lines.flatMap((line) => (line.kind === 'event' ? [line['event'] as BrokerEvent] : []));
    assert.ok(events.some(({ type, seq, time }) => type === 'registered' && seq > 0 && Date.parse(time) > 0));
    for (const kind of ['run', 'begin', 'span', 'call', 'devices', 'event', 'note', 'log', 'verdict']) {
      assert.ok(kinds.has(kind), kind);
    }
    const lanes = new Set(lines.filter(({ kind }) => kind === 'span').map(({ lane }) => lane));
    assert.deepEqual([...lanes].sort(), ['broker', 'plugin', 'socket', 'stream']);
    assert.deepEqual(
      lines
        .filter(({ kind }) => kind === 'verdict')
        .map(({ s, verdict }) => `${String(s)} ${String(verdict)}`)
        .sort(),
      ['first-list passed', 'notify-false skipped', 'restart-kill passed'],
    );
    const log = readFileSync(file('out/restart-kill/plugin.log'), 'utf8');
    assert.match(log, /^token \{\$SECRET_TOKEN\} in \{\$TMPDIR\}\n/);
    for (const name of ['e.jsonl', 'r.html', 'out/restart-kill/plugin.log', 'out/restart-kill/moments.jsonl']) {
      const text = readFileSync(file(name), 'utf8').replaceAll(JSON.stringify(talkative).slice(1, -1), '');
      assert.doesNotMatch(text, /hunter2/, name);
      assert.doesNotMatch(text, new RegExp(`${folder}/v-`), name);
    }
    assert.ok(existsSync(file('out/restart-kill/broker.log')));
  });

  it('compares with a baseline: silent about its own, 1 for what got worse, 0 for a gap that is known', async () => {
    const folder = tempDir();
    const base = path.join(folder, 'base.json');
    const verify = (...flags: readonly string[]): ReturnType<typeof run> =>
      run(['verify', '--scenario', 'unlink-only', 'reboot', ...flags, '--', ...simCommand('--watch', 'create')]);
    const first = await verify('--save', base);
    assert.equal(first.code, 1, 'it goes on without its socket');
    const again = await verify('--compare', base);
    assert.equal(again.code, 0, again.stdout);
    assert.doesNotMatch(again.stdout, /^(worse|better):/m);
    const known = JSON.parse(readFileSync(base, 'utf8')) as { scenarios: { verdict: string; code: string }[] };
    for (const scenario of known.scenarios) Object.assign(scenario, { verdict: 'passed', code: 'ok' });
    writeFileSync(base, JSON.stringify(known));
    const worse = await verify('--compare', base);
    assert.equal(worse.code, 1);
    assert.match(worse.stdout, /^worse: {2}unlink-only: failed \(socket-lost\), was passed \(ok\): it went on /m);
    assert.doesNotMatch(worse.stdout, /worse: {2}reboot/);
  });

  it('lets a scenario only warn, repeats, stops at a failure, and ends in time', async () => {
    const plugin = simCommand('--watch', 'create');
    const warned = await run(['verify', '--scenario', 'unlink-only', '--warn', 'unlink-only', '--', ...plugin]);
    assert.equal(warned.code, 0, warned.stdout);
    assert.match(warned.stdout, /^warning +unlink-only /m);
    const repeated = await run(['verify', '--scenario', 'reboot', '--repeat', '2', '-o', 'json', '--', ...plugin]);
    assert.match(repeated.stdout, /\(2 runs, \d+\.\d to \d+\.\d s\)/);
    const late = await run(['verify', '--scenario', 'late-socket', '--timeout', '2s', '--', ...plugin]);
    assert.equal(late.code, 1);
    assert.match(late.stderr, /the run was ended after 2 s \(--timeout\): 0 of 1 scenarios are judged/);
  });

  it('judges by what a kubelet does where it is asked to', async () => {
    const flags = ['--profile', 'kubelet', '--scenario', 'restart-nowipe', 'restart-kill', 'refuse'];
    const { stdout, code } = await run(['verify', ...flags, '-o', 'json', '--', ...simCommand('--watch', 'never')]);
    const { scenarios } = JSON.parse(stdout) as { scenarios: { name: string; verdict: string; code: string }[] };
    assert.deepEqual(
      scenarios.map(({ name, verdict, code: why }) => `${name} ${verdict} ${why}`),
      ['restart-nowipe skipped not-applicable', 'restart-kill failed never-back', 'refuse skipped not-applicable'],
    );
    assert.equal(code, 1);
  });

  it('takes no name in braces that it does not know, and writes nothing then', async () => {
    const { code, stderr } = await run(['verify', '--', ...simCommand('--kubelet-socket', '{kubeletSock}')]);
    assert.equal(code, 2);
    assert.match(stderr, /\{kubeletSock\} in the command stands for nothing: there are \{devicePlugins\}, /);
  });

  it('makes a report of several runs later, and refuses what is no record', async () => {
    const folder = tempDir();
    const records = ['v1', 'v2'].map((label) => path.join(folder, `${label}.jsonl`));
    await Promise.all(
      records.map((file) =>
        run([
          'verify',
          '--scenario',
          'reboot',
          '--label',
          path.basename(file),
          '--events',
          file,
          '--',
          ...simCommand(),
        ]),
      ),
    );
    const page = path.join(folder, 'r.html');
    const { code, stdout } = await run([
      'report',
      ...records,
      '--report',
      page,
      '--summary',
      path.join(folder, 's.md'),
    ]);
    assert.deepEqual(
      [code, stdout],
      [0, 'v1.jsonl: 1 passed, 0 failed, 0 skipped\nv2.jsonl: 1 passed, 0 failed, 0 skipped\n'],
    );
    assert.match(readFileSync(page, 'utf8'), /Side by side/);
    writeFileSync(path.join(folder, 'bad'), 'no record\n');
    const bad = await run(['report', path.join(folder, 'bad')]);
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /bad, line 1: this is no JSON object; a record is what verify --events wrote/);
  });
});
