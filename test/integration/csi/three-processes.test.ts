// A broker, a registrar and a CSI driver, each a process of its own, through everything that happens to them.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { PluginView } from '../../../src/model/views.js';
import { AdminClient } from '../../../src/platform/grpc/admin-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { run, start, startCommand, type Running } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const DRIVER = 'csi.sim.example.com';
const OTHER_UID = 54321;
const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can start a plugin as another user';

describe('a broker, a registrar and a CSI driver as three processes', () => {
  let root: string;
  let config: string;
  let running: Running[];

  beforeEach(() => {
    root = tempDir();
    config = path.join(root, 'config.yaml');
    writeFileSync(config, 'http: {listen: off}\nrestart: {deadline: 500ms}\n');
    running = [];
  });
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
  });

  function launch(args: readonly string[]): Running {
    const program = start(args, { NODE_NAME: 'worker-1' });
    running.push(program);
    return program;
  }

  async function broker(): Promise<Running> {
    const program = launch(['serve', '--root', root, '--config', config]);
    await eventually('the broker serves', () => program.stderr().includes('"broker.started"'));
    return program;
  }

  async function driver(...args: string[]): Promise<Running> {
    const program = launch(['sim', 'csi', '--root', root, ...args]);
    await eventually('the driver serves', () => program.stdout().includes('"serving"'));
    return program;
  }

  function registrar(): Running {
    const socket = path.join(root, 'plugins', DRIVER, 'csi.sock');
    return launch([
      'registrar',
      `--csi-address=${socket}`,
      `--kubelet-registration-path=${socket}`,
      `--plugin-registration-path=${path.join(root, 'plugins_registry')}`,
    ]);
  }

  const told = (program: Running): Promise<true> =>
    eventually(`it is told so: ${program.stderr()}`, () => program.stderr().includes('registered=true'));

  const toldItself = (program: Running): Promise<true> =>
    eventually('it is told so', () => program.stdout().includes('"registered":true'));

  async function view(): Promise<PluginView | undefined> {
    const admin = new AdminClient(path.join(root, 'broker.sock'), systemClock, new AbortController().signal);
    return (await admin.plugins(DRIVER)).find(({ primary }) => primary);
  }

  const file = (): string => path.join(root, 'state', 'csinode.json');
  const published = (): string[] => {
    const { items } = JSON.parse(readFileSync(file(), 'utf8')) as {
      items: [{ metadata: { name: string } }, { spec: { drivers: { nodeID: string }[] } }];
    };
    assert.equal(items[0].metadata.name, 'worker-1');
    return items[1].spec.drivers.map(({ nodeID }) => nodeID);
  };
  const isPublishedAs = (...ids: string[]): Promise<true> =>
    eventually(`${ids.join()} is published`, () => published().join() === ids.join());

  it('agree at every step of their lives', async () => {
    await broker();
    const first = await driver('--node-id=first');
    const sidecar = registrar();
    await told(sidecar);
    await isPublishedAs('first');
    assert.deepEqual([(await view())?.state, (await view())?.type], ['ready', 'CSIPlugin']);

    // The sidecar is killed: its socket file stays, and with it the registration.
    sidecar.child.kill('SIGKILL');
    await sidecar.ended;
    assert.deepEqual(published(), ['first']);

    // It starts again: another incarnation of the same name, which unlinks the socket that is there and binds its own.
    const second = registrar();
    await told(second);
    await isPublishedAs('first');
    assert.equal((await view())?.state, 'ready');

    // The driver is upgraded in place.
    first.child.kill('SIGTERM');
    await first.ended;
    await eventually('it is held', async () => (await view())?.reason === 'service-lost');
    assert.deepEqual(published(), ['first']);
    const upgraded = await driver('--node-id=upgraded', '--topology=zone=z1');
    await isPublishedAs('upgraded');
    assert.equal((await view())?.state, 'ready');
    // The next start of the broker would publish what stands there.
    const checkpoint = (): string => readFileSync(path.join(root, 'state', 'checkpoint.json'), 'utf8');
    await eventually('the checkpoint has its new facts', () => checkpoint().includes('"nodeId":"upgraded"'));

    // Everything goes.
    upgraded.child.kill('SIGTERM');
    second.child.kill('SIGTERM');
    assert.equal((await second.ended).code, 0);
    await isPublishedAs();
    await eventually('it is gone', async () => ((await view())?.state ?? 'gone') === 'gone');
  });

  it('agree across a kill -9 of the broker, with a driver that lives on and one that goes meanwhile', async () => {
    const before = await broker();
    await driver('--node-id=lives');
    const sidecar = registrar();
    await told(sidecar);
    const gone = await driver('--driver=gone.example.com', '--node-id=goes', '--register');
    await toldItself(gone);
    await isPublishedAs('lives', 'goes');
    before.child.kill('SIGKILL');
    await before.ended;
    gone.child.kill('SIGTERM');
    await gone.ended;
    assert.deepEqual(published(), ['lives', 'goes']);
    await broker();
    await isPublishedAs('lives');
    await eventually('it is ready', async () => (await view())?.state === 'ready');
    assert.equal(sidecar.child.exitCode, null);
  });

  it('agree after a clean restart of the broker, which takes back nothing', async () => {
    const before = await broker();
    await driver();
    await told(registrar());
    await isPublishedAs('sim-node');
    before.child.kill('SIGTERM');
    assert.equal((await before.ended).code, 0);
    assert.deepEqual(published(), ['sim-node']);
    await broker();
    await eventually('it is ready', async () => (await view())?.state === 'ready');
    assert.deepEqual(published(), ['sim-node']);
  });

  it('leave a driver published whose answer takes longer than the restart of the broker', async () => {
    const before = await broker();
    await toldItself(await driver('--register', '--fault=NodeGetInfo=delay:900ms'));
    await isPublishedAs('sim-node');
    before.child.kill('SIGKILL');
    await before.ended;
    await broker();
    const seen = new Set<string>();
    await eventually('it is ready', async () => {
      seen.add(published().join());
      return (await view())?.state === 'ready';
    });
    assert.deepEqual([...seen], ['sim-node']);
  });

  it('leave a driver published when the checkpoint is lost', async () => {
    const before = await broker();
    await toldItself(await driver('--register'));
    await isPublishedAs('sim-node');
    before.child.kill('SIGKILL');
    await before.ended;
    for (const name of readdirSync(path.join(root, 'state'))) {
      if (name.startsWith('checkpoint')) rmSync(path.join(root, 'state', name));
    }
    await broker();
    assert.deepEqual(published(), ['sim-node']);
    await eventually('it is ready', async () => (await view())?.state === 'ready');
    assert.deepEqual(published(), ['sim-node']);
  });

  it('leave a driver published whose service is down while the broker restarts', async () => {
    const before = await broker();
    const service = await driver('--node-id=first');
    await told(registrar());
    await isPublishedAs('first');
    before.child.kill('SIGKILL');
    service.child.kill('SIGTERM');
    await Promise.all([before.ended, service.ended]);
    await broker();
    await eventually('the deadline is over', async () => (await view())?.state === 'held');
    assert.deepEqual(published(), ['first']);
    await driver('--node-id=second');
    await told(registrar());
    await isPublishedAs('second');
  });

  for (const [how, isOwn, code] of [
    ['another one names its endpoint and leaves', false, 'CALLER_NOT_LISTENER'],
    ['another one serves the driver itself and leaves', true, 'NAME_OWNED'],
  ] as const) {
    it(`keep a driver published for the user that has it, also when ${how}`, { skip }, async () => {
      const daemon = await broker();
      await toldItself(await driver('--node-id=first', '--register'));
      await isPublishedAs('first');
      const theirs = path.join(root, 'plugins_registry', 'theirs');
      mkdirSync(theirs);
      chownSync(theirs, OTHER_UID, OTHER_UID);
      for (const folder of [root, path.dirname(theirs)]) chmodSync(folder, 0o755);
      const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-plugin.js');
      const service = path.join(root, 'plugins', DRIVER, 'csi.sock');
      const argv = [file, String(OTHER_UID), path.join(theirs, 'reg.sock'), '-', DRIVER, isOwn ? 'own' : service];
      const thief = startCommand(process.execPath, argv, {});
      running.push(thief);
      await eventually('it is told', () => thief.stdout().includes('told: '));
      assert.match(thief.stdout(), new RegExp(`told: ${code}: `));
      assert.match(daemon.stderr(), new RegExp(`"code":"${code}"`));
      assert.deepEqual(published(), ['first']);
      thief.child.stdin.end();
      await thief.ended;
      rmSync(path.join(theirs, 'reg.sock'), { force: true });
      const sentinel = await driver('--driver=other.example.com', '--node-id=later', '--register');
      await toldItself(sentinel);
      await isPublishedAs('first', 'later');
      assert.equal((await view())?.state, 'ready');
      assert.ok((await view())?.socket.startsWith(path.join(root, 'plugins_registry', DRIVER)));
    });
  }

  it('say why a driver is refused, in explain', async () => {
    await broker();
    await driver('--node-id-bytes=300');
    const sidecar = registrar();
    assert.equal((await sidecar.ended).code, 1);
    assert.match(sidecar.stderr(), /NodeGetInfo answered a node id of 300 bytes; 256 are allowed/);
    const { stdout } = await run(['explain', DRIVER, '--root', root]);
    assert.match(stdout, /NODE_ID_TOO_LONG/);
    assert.match(stdout, /Configure a shorter node id/);
    assert.equal(existsSync(file()) && published().length > 0, false);
  });
});
