// The habits of people that know kubectl: forms of output, filters, globs, waiting, reloading.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { AdminPort } from '../../../src/admin/admin-port.js';
import { brokerEvent, FakeAdminPort, limitView, pluginView, resourceView } from '../../support/fake-admin-port.js';
import { CapturedTerminal, programParts, runHere } from '../../support/captured-terminal.js';
import { run } from '../../../src/cli/program.js';
import { eventually } from '../../support/eventually.js';
import { serveAdmin, type ServedAdminApi } from '../../support/served-admin.js';
import { tempDir } from '../../support/temp-dir.js';

const root = tempDir();
const port = new FakeAdminPort();
port.pluginList = [
  pluginView(),
  pluginView({ name: 'example.com/nic', state: 'held', reason: 'connection-lost' }),
  pluginView({ type: 'CSIPlugin', name: 'csi.two.io' }),
];
port.resourceList = [resourceView(), resourceView({ name: 'example.com/nic', state: 'held' })];
port.limitList = [limitView(), limitView({ limit: 'global.register', plugin: '' })];
port.eventList = [
  brokerEvent({ time: '2029-12-31T22:00:00.000Z' }),
  brokerEvent({ seq: 2, time: '2030-01-01T00:00:30.000Z', type: 'flood', message: 'floods' }),
  brokerEvent({ seq: 3, time: '2030-01-01T00:00:40.000Z', plugin: 'DevicePlugin/example.com/nic', message: 'nic' }),
];
let served: ServedAdminApi;
const out = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await runHere([...args, '--root', root]);
  assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  return stdout;
};
const names = async (...args: readonly string[]): Promise<readonly string[]> =>
  (await out(...args, '-o', 'name')).trimEnd().split('\n');
const seqs = async (...args: readonly string[]): Promise<readonly number[]> =>
  (await out('events', '-o', 'json', ...args))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { seq: number }).seq);

describe('the command line', () => {
  before(async () => {
    served = await serveAdmin(path.join(root, 'broker.sock'), port);
  });
  after(() => served.cut());

  it('gives names, YAML and more columns', async () => {
    assert.deepEqual(await names('plugins'), [
      'DevicePlugin/example.com/gpu',
      'DevicePlugin/example.com/nic',
      'CSIPlugin/csi.two.io',
    ]);
    assert.deepEqual(await names('resources'), ['example.com/gpu', 'example.com/nic']);
    assert.deepEqual(await names('limits'), ['DevicePlugin/example.com/gpu']);
    for (const [command, value] of [
      ['status', { ...port.status(), resources: port.resourceList }],
      ['plugins', port.pluginList],
      ['resources', port.resourceList],
    ] as const) {
      assert.deepEqual(parse(await out(command, '-o', 'yaml')), JSON.parse(JSON.stringify(value)), command);
    }
    assert.doesNotMatch(await out('plugins'), /SOCKET/);
    assert.match(await out('plugins', '-o', 'wide'), /SOCKET/);
  });

  it('keeps the columns that matter within 100 characters', async () => {
    const cut = async (command: string): Promise<string> => (await out(command)).split('\n')[0]?.slice(0, 100) ?? '';
    for (const title of ['STATE', 'REASON']) assert.match(await cut('plugins'), new RegExp(title));
    for (const title of ['NOW', 'QUARANTINE', 'SET BY']) assert.match(await cut('limits'), new RegExp(title));
  });

  it('narrows lists by state, type and glob; a glob that means nobody is a failure', async () => {
    assert.deepEqual(await names('plugins', '--state', 'held,gone'), ['DevicePlugin/example.com/nic']);
    assert.deepEqual(await names('plugins', '--type', 'CSIPlugin'), ['CSIPlugin/csi.two.io']);
    assert.deepEqual(await names('plugins', 'example.com/*'), [
      'DevicePlugin/example.com/gpu',
      'DevicePlugin/example.com/nic',
    ]);
    assert.deepEqual(await names('resources', '*nic', '--state', 'held'), ['example.com/nic']);
    assert.deepEqual(await names('limits', '*/gpu'), ['DevicePlugin/example.com/gpu']);
    const nobody = await runHere(['plugins', 'nvidia.com/*', '--root', root]);
    assert.deepEqual([nobody.code, nobody.stdout], [1, '']);
    assert.match(nobody.stderr, /no plugin matches nvidia\.com\/\*/);
    assert.equal((await runHere(['plugins', '--state', 'lost', '--root', root])).code, 2);
  });

  it('pardons all that a glob means', async () => {
    port.done.length = 0;
    await out('pardon', 'example.com/*');
    assert.deepEqual(port.done, ['pardon DevicePlugin example.com/gpu', 'pardon DevicePlugin example.com/nic']);
  });

  it('gives the last events, those of a time, of a type, of a glob', async () => {
    assert.deepEqual(await seqs('--tail', '1'), [3]);
    assert.deepEqual(await seqs('--since', '10m'), [2, 3]);
    assert.deepEqual(await seqs('--since', '2'), [2, 3]);
    assert.deepEqual(await seqs('--type', 'flood', 'registered', '--tail', '2'), [2, 3]);
    assert.deepEqual(await seqs('--plugin', '*/nic'), [3]);
    const nobody = await runHere(['events', '--plugin', 'nobody', '--root', root]);
    assert.equal(nobody.code, 1);
  });

  it('finds the daemon by PLUGIN_BROKER_ROOT, and takes options before the command', async () => {
    process.env['PLUGIN_BROKER_ROOT'] = root;
    try {
      assert.equal((await runHere(['status'])).code, 0);
      const file = path.join(root, 'empty.yaml');
      writeFileSync(file, '{}');
      assert.ok((await runHere(['check-config', file])).stdout.includes(`root: ${root}\n`));
      assert.ok((await runHere(['doctor'])).stdout.includes(`${root}/device-plugins`));
    } finally {
      delete process.env['PLUGIN_BROKER_ROOT'];
    }
    assert.match((await runHere(['--root', root, '-o', 'name', 'resources'])).stdout, /^example\.com\/gpu\n/);
  });

  it('waits until it is so, for a daemon that is not there yet, too, and says what is missing when it is not', async () => {
    port.phase = 'restoring';
    const terminal = new CapturedTerminal();
    const args = ['wait', '--for', 'phase=ready', '--for', 'resource/example.com/gpu=ready', '--root', root];
    const waiting = run(args, terminal, programParts);
    port.phase = 'ready';
    assert.equal(await waiting, 0);
    const late = await runHere(['wait', '--for', 'plugin/example.com/nic=ready', '--timeout', '1ms', '--root', root]);
    assert.deepEqual(
      [late.code, late.stderr],
      [1, 'plugin-broker: not within 0.001 s: plugin example.com/nic is held, not ready\n'],
    );
    const unknown = await runHere(['wait', '--for', 'resource/a.b/c=ready', '--timeout', '1ms', '--root', root]);
    assert.match(unknown.stderr, /resource a\.b\/c is not there, not ready/);
    const hung = path.join(tempDir(), 's');
    const accepted: Socket[] = [];
    const listener = createServer((socket) => void accepted.push(socket)).listen(hung); // and says nothing
    const silent = await runHere(['wait', '--for', 'phase=ready', '--timeout', '1ms', '--address', hung]);
    listener.close();
    accepted.forEach((socket) => socket.destroy());
    assert.deepEqual([silent.code, /listens there but does not answer/.test(silent.stderr)], [69, true]);
    const empty = tempDir();
    const none = await runHere(['wait', '--for', 'phase=ready', '--timeout', '1ms', '--root', empty]);
    assert.equal(none.code, 69);
    assert.equal((await runHere(['wait', '--for', 'phase/x=ready', '--root', root])).code, 2);
    assert.equal((await runHere(['wait', '--root', root])).code, 2);
    const far = await runHere(['wait', '--for', 'phase=ready', '--timeout', '25d', '--root', root]);
    assert.deepEqual([far.code, /It must be at most 596h/.test(far.stderr)], [2, true]);
    for (const condition of ['phase=held', 'plugin/example.com/nic=raedy', 'resource/example.com/nic=degraded']) {
      const wrong = await runHere(['wait', '--for', condition, '--timeout', '1ms', '--root', root]);
      assert.equal(wrong.code, 2, condition);
      assert.match(wrong.stderr, /is none of .*ready/);
    }

    const soon = tempDir();
    const early = run(['wait', '--for', 'phase=ready', '--root', soon], new CapturedTerminal(), programParts);
    const api = await eventually('its socket', () => serveAdmin(path.join(soon, 'broker.sock'), port as AdminPort));
    assert.equal(await early, 0);
    api.cut();
  });

  it('reloads, and says what changed or why not', async () => {
    port.reloaded = {
      outcome: 'applied',
      source: 'a.yaml',
      changes: ['flood.mode: enforce → observe'],
      needRestart: [],
      problems: [],
    };
    assert.equal(await out('reload'), 'the policy of a.yaml is in force:\n  flood.mode: enforce → observe\n');
    port.reloaded = { ...port.reloaded, outcome: 'unchanged', changes: [], needRestart: ['http.listen: a → b'] };
    assert.match(
      await out('reload'),
      /^a\.yaml says what is in force already; .*\nthese keep their old values .*\n {2}http\.listen: a → b\n$/,
    );
    port.reloaded = { ...port.reloaded, source: 'defaults', needRestart: [] };
    assert.equal(await out('reload'), 'the daemon was given no config file: the defaults stay in force\n');
    port.reloaded = {
      ...port.reloaded,
      source: 'a.yaml',
      outcome: 'refused',
      needRestart: [],
      problems: ['a.yaml:1:1: x: no such key'],
    };
    const refused = await runHere(['reload', '--root', root]);
    assert.deepEqual([refused.code, refused.stdout], [78, '']);
    assert.match(
      refused.stderr,
      /^a\.yaml:1:1: x: no such key\nplugin-broker: a\.yaml cannot be used; the old policy stays in force\n$/,
    );
    port.reloaded = undefined;
    assert.equal((await runHere(['reload', '--root', root])).code, 1);
  });

  it('offers names to shells, and nothing loudly or slowly where there is no daemon', async () => {
    assert.equal(await out('__names', 'resource'), 'example.com/gpu\nexample.com/nic\n');
    const none = await runHere(['__names', 'plugin', '--root', tempDir()]);
    assert.deepEqual(none, { code: 0, stdout: '', stderr: '' });
    assert.match((await runHere(['completion', 'bash'])).stdout, /plugin-broker __names \$names /);
  });

  it('says versions, and helps with a command however deep it stands', async () => {
    assert.match(await out('version'), /^plugin-broker 0\.0\.0 \(Node\.js \d+.*\)\ndaemon 1\.2\.3 \(pid 77\)\n$/);
    assert.match((await runHere(['version', '--root', tempDir()])).stdout, /\nno daemon can be reached\n$/);
    assert.match((await runHere(['help', 'sim', 'device'])).stdout, /^Usage: plugin-broker sim device /);
    assert.equal((await runHere(['help', 'sim', 'nothing'])).code, 2);
  });
});
