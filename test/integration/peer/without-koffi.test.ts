import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { buildRoot } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { startCommand, type Ended } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

/** The program as it is where the optional dependency was not installed. */
function installedWithoutKoffi(): string {
  const folder = tempDir();
  const parts = ['dist', 'package.json'].map((name) => path.join(buildRoot(), name));
  execFileSync('cp', ['-r', ...parts, folder]);
  return path.join(folder, 'dist', 'plugin-broker.cjs');
}

const OTHER_UID = 54321;
const self = process.getuid?.() ?? 0;
const program = installedWithoutKoffi();
const run = (...args: readonly string[]): Promise<Ended> =>
  startCommand(process.execPath, [program, ...args], { NODE_PATH: '' }).ended;

void describe('without koffi', { concurrency: true }, () => {
  const children: ChildProcess[] = [];
  const brokers: BrokerProcess[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(brokers.map((one) => one.close()));
    await Promise.all(plugins.map((one) => one.stop()));
  });

  async function broker(config: object = {}): Promise<BrokerProcess> {
    const one = new BrokerProcess(tempDir(), config, { program });
    brokers.push(one);
    await one.start();
    return one;
  }

  async function plugin(folder: string, name: string, door: 'register' | 'watcher'): Promise<FakePlugin> {
    const socket = path.join(folder, `${name}.sock`);
    const one = await FakePlugin.start({ socket, resource: `example.com/${name}`, door });
    plugins.push(one);
    return one;
  }

  void it('both doors are open, and the owner of the socket file stands in for the process', async () => {
    const one = await broker();
    const calling = await plugin(one.devicePlugins, 'calling', 'register');
    await calling.register(one.kubeletSocket);
    const watched = await plugin(one.registry, 'watched', 'watcher');
    await eventually('told', () => watched.notified.length === 1);
    assert.deepEqual(watched.notified, ['']);
    await eventually('both serve', async () =>
      [...(await one.counts()).values()].every(({ allocatable }) => allocatable === 2),
    );
    const views = await one.plugins();
    assert.deepEqual(
      views.map(({ state, uid, pid }) => ({ state, uid, pid })),
      [
        { state: 'ready', uid: self, pid: -1 },
        { state: 'ready', uid: self, pid: -1 },
      ],
    );
    const doctor = await run('doctor', '--root', one.root);
    assert.match(doctor.stdout, /koffi cannot be loaded, .*the owner of a socket file stands in for its listener/);
    assert.match(
      doctor.stdout,
      /flood\.connections counts all connections together, and only the own user gets leases; install koffi/,
    );
  });

  void it(
    'a rule with uids holds for the owner of the socket file',
    { skip: self !== 0 && 'SKIPPED: only root can start a plugin as another user' },
    async () => {
      const one = await broker({ rules: [{ match: { name: 'example.com/ours*' }, uids: [self] }] });
      chmodSync(one.root, 0o755);
      chmodSync(one.devicePlugins, 0o777);
      chmodSync(one.kubeletSocket, 0o777);
      const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-plugin.js');
      const socket = path.join(one.devicePlugins, 'foreign.sock');
      const argv = [file, String(OTHER_UID), socket, one.kubeletSocket, 'example.com/ours-1'];
      const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
      children.push(child);
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      assert.match(
        line.toString(),
        /CALLER_NOT_ALLOWED: example\.com\/ours-1: uid 54321 may not register it; its rule/,
      );
      const mine = await plugin(one.devicePlugins, 'ours-2', 'register');
      await mine.register(one.kubeletSocket);
    },
  );

  void it('devices are given to the own user alone, who says which process has them', async () => {
    const one = await broker({ cdi: { dir: 'off' }, allocator: { check: '1s' } });
    const socket = path.join(one.root, 'alloc.sock');
    assert.equal(statSync(socket).mode & 0o777, 0o600);
    const gpu = await plugin(one.devicePlugins, 'gpu', 'register');
    await gpu.register(one.kubeletSocket);
    const resource = 'example.com/gpu';
    const allocated = async (): Promise<number | undefined> =>
      (await one.admin.resources(resource, true))[0]?.allocated;
    await eventually('its devices are there', async () => (await one.counts()).get(resource)?.allocatable === 2);
    const running = startCommand(process.execPath, [
      ...[program, 'run', '--root', one.root, '--device', resource],
      ...['--', 'sh', '-c', 'echo "$PLUGIN_BROKER_DEVICES"; exec cat'],
    ]);
    await eventually('the command has its device', () => running.stdout().startsWith(`${resource}=`));
    const keyed = await run('allocate', '--root', one.root, '--device', resource, '--key', 'k', '-o', 'json');
    const { owner, pid } = JSON.parse(keyed.stdout) as { owner: { bind: string }; pid: number };
    assert.deepEqual([keyed.code, owner.bind, pid, await allocated()], [0, 'key', 0, 2]);
    running.child.kill('SIGKILL');
    running.child.stdin.end(); // its command, where nothing kills that with it
    await eventually('the device of the command is free, and the other is not', async () => (await allocated()) === 1);
    assert.equal((await run('release', '--root', one.root, '--key', 'k')).stdout, 'released\n');
    assert.equal(await allocated(), 0);
  });

  void it('a broker with admission.allowUids does not start, and says in one sentence what to do', async () => {
    const root = tempDir();
    const config = path.join(root, 'config.yaml');
    writeFileSync(config, JSON.stringify({ admission: { allowUids: [self] } }));
    const sentence =
      /admission\.allowUids: uids cannot be checked without the optional package koffi; install koffi, or/;
    const serving = await run('serve', '--root', root, '--config', config);
    assert.equal(serving.code, 78, serving.stderr);
    assert.match(serving.stderr, sentence);
    assert.equal(serving.stderr.trim().split('\n').length, 1, serving.stderr);
    const checked = await run('check-config', config);
    assert.equal(checked.code, 78);
    assert.match(checked.stdout + checked.stderr, sentence);
  });
});
