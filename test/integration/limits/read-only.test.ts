import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { cannotPrepare, inNamespaces, inNamespacesOf } from '../../support/namespaces.js';
import { tempDir } from '../../support/temp-dir.js';

/** Mounts of its own: a directory is read-only for the broker alone, not for the plugins. */
const OWN_MOUNTS = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
const ENTER = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--mount', '--preserve-credentials'];
const bound = (folder: string): string => `mount --bind ${folder} ${folder}`;
const readOnly = (folder: string): string => `mount -o remount,bind,ro ${folder}`;
const writable = (folder: string): string => `mount -o remount,bind,rw ${folder}`;
const impossible = cannotPrepare(OWN_MOUNTS, `${bound('/tmp')} && ${readOnly('/tmp')}`);

const cleanup: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const clean of cleanup) await clean();
});

type Folder = 'device-plugins' | 'plugins_registry' | 'state';

/** A broker that has not started yet, with one directory as a mount of its own. */
function broker(folder: Folder, config: object, prepare: (folder: string) => string): BrokerProcess {
  const root = tempDir();
  const place = path.join(root, folder);
  for (const name of ['device-plugins', 'plugins_registry', 'state']) mkdirSync(path.join(root, name));
  const script = [bound(place), prepare(place)].join(' && ');
  const one = new BrokerProcess(root, config, { within: inNamespaces(OWN_MOUNTS, script) });
  cleanup.push(() => one.close());
  return one;
}

/** Mounts a directory anew, for the running broker alone. */
function remount(one: BrokerProcess, folder: Folder, how: (folder: string) => string): void {
  assert.ok(one.pid !== undefined);
  inNamespacesOf(one.pid, ENTER, how(path.join(one.root, folder)));
}

async function plugin(folder: string, name: string, door: 'register' | 'watcher'): Promise<FakePlugin> {
  const socket = path.join(folder, `${name}.sock`);
  const one = await FakePlugin.start({ socket, resource: `example.com/${name}`, door });
  cleanup.push(() => one.stop());
  return one;
}

void describe('a read-only directory', { concurrency: true, skip: impossible }, () => {
  void it('of device plugins at the start: one sentence, exit 1', async () => {
    const one = broker('device-plugins', {}, readOnly);
    const [code] = (await once(one.spawn(), 'close')) as [number];
    assert.equal(code, 1);
    const errors = one.log.split('\n').filter((line) => line.includes('"level":"error"'));
    assert.equal(errors.length, 1, one.log);
    assert.match(errors[0] ?? '', /broker\.not-started.*kubelet\.sock: .*EROFS.*must be able to make files/);
  });

  void it('of device plugins later: says so when kubelet.sock is lost, and makes it again when it can', async () => {
    const one = broker('device-plugins', { discovery: { rescan: '300ms' } }, () => 'true');
    await one.start();
    const inside = await plugin(one.devicePlugins, 'inside', 'register');
    await inside.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/inside')) === 2);
    remount(one, 'device-plugins', readOnly);
    // Nothing of ours is lost yet: a newcomer gets in.
    const second = await plugin(one.devicePlugins, 'second', 'register');
    await second.register(one.kubeletSocket);

    rmSync(one.kubeletSocket);
    await eventually('it is told', async () => (await one.status()).broker.phase === 'degraded');
    const { problems } = (await one.status()).broker;
    assert.match(problems.join(), /^kubelet\.sock is not in .* and cannot be made again.*EROFS/);
    const watched = await plugin(one.registry, 'watched', 'watcher');
    await eventually('the other door is open', () => watched.notified.length === 1);

    remount(one, 'device-plugins', writable);
    await eventually('all is well', async () => (await one.status()).broker.phase === 'ready');
    const late = await plugin(one.devicePlugins, 'late', 'register');
    await late.register(one.kubeletSocket);
    assert.equal(await one.allocatable('example.com/inside'), 2);
    const told = one.log.split('\n').filter((line) => line.includes('cannot be made again'));
    assert.equal(told.length, 1, told.join('\n'));
    assert.doesNotMatch(told.join(), /\/proc\/self/, 'the path that people know');
  });

  void it('of registration sockets is all that is needed: the broker only reads it', async () => {
    const one = broker('plugins_registry', {}, readOnly);
    await one.start();
    await plugin(one.registry, 'watched', 'watcher');
    await eventually('in', async () => (await one.allocatable('example.com/watched')) === 2);
    assert.equal((await one.status()).broker.phase, 'ready');
  });

  void it('of state: serves from memory, says so, and writes everything when it can', async () => {
    const one = broker('state', { discovery: { rescan: '100ms' } }, readOnly);
    await one.start();
    const calling = await plugin(one.devicePlugins, 'calling', 'register');
    await calling.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/calling')) === 2);
    const { broker: view, checkpoint } = await one.status();
    assert.deepEqual([view.phase, checkpoint.state], ['degraded', 'not-writable']);
    // The lock is a file of the same directory: it is told beside the checkpoint, in whichever order.
    assert.equal(view.problems.length, 2, view.problems.join('\n'));
    assert.ok(
      view.problems.some((one) => /^there is no lock on .*EROFS/.test(one)),
      view.problems.join('\n'),
    );
    assert.ok(
      view.problems.some((one) => /^the checkpoint is not-writable: .*EROFS/.test(one)),
      view.problems.join('\n'),
    );
    assert.equal((await one.plugins())[0]?.reason, 'not-checkpointed');

    remount(one, 'state', writable);
    await one.onDisk('example.com/calling');
    await eventually('all is well', async () => (await one.status()).broker.phase === 'ready');
    assert.match(one.log, /the state directory is locked/);
    // However often it was asked for meanwhile.
    assert.equal(one.log.split('\n').filter((line) => line.includes('there is no lock')).length, 1, one.log);
    await eventually('it is checkpointed', async () => (await one.plugins())[0]?.reason !== 'not-checkpointed');
  });
});
