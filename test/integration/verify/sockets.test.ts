import assert from 'node:assert/strict';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { keyAt } from '../../../src/platform/fs/socket-pin.js';
import { AttachedPlugin } from '../../../src/verify/attached.js';
import { pinRegistered, removePluginSockets, unlinkKubeletSocket, unlinkSockets } from '../../../src/verify/sockets.js';
import { startCommand } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const cleanup: (() => unknown)[] = [];
after(() => cleanup.forEach((clean) => clean()));

async function listen(socket: string): Promise<{ socket: string; incarnation: string }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  cleanup.push(() => server.close());
  return { socket, incarnation: keyAt(socket) ?? '' };
}

/** The directories of a kubelet; a user has a directory of its own in each door. */
function kubelet() {
  const root = tempDir();
  const [devicePlugins, registry, plugins] = ['device-plugins', 'plugins_registry', 'plugins'].map((name) =>
    path.join(root, name),
  ) as [string, string, string];
  for (const door of [devicePlugins, registry, plugins]) mkdirSync(path.join(door, 'sub'), { recursive: true });
  mkdirSync(path.join(root, 'etc'));
  writeFileSync(path.join(root, 'etc', 'shadow'), 'of root');
  const kubeletSocket = path.join(devicePlugins, 'kubelet.sock');
  return { etc: path.join(root, 'etc'), directories: { devicePlugins, registry, plugins, kubeletSocket } };
}

describe('kubelet.sock that is removed', () => {
  it('is the socket alone: a directory that somebody put in its place stays, and is no failure', async () => {
    const { directories } = kubelet();
    const { kubeletSocket } = directories;
    await listen(kubeletSocket);
    unlinkKubeletSocket(directories);
    assert.equal(existsSync(kubeletSocket), false);
    unlinkKubeletSocket(directories); // there is none
    mkdirSync(path.join(kubeletSocket, 'full'), { recursive: true });
    unlinkKubeletSocket(directories);
    assert.equal(existsSync(path.join(kubeletSocket, 'full')), true);
  });
});

describe('sockets that a scenario removes', () => {
  it('are those that were registered, in each door and in directories below it', async () => {
    const { directories } = kubelet();
    const { devicePlugins, registry } = directories;
    const files = [
      path.join(devicePlugins, 'a.sock'),
      path.join(devicePlugins, 'sub', 'b'),
      path.join(registry, 'c.sock'),
    ];
    const registered = await Promise.all(files.map(listen));
    assert.deepEqual(unlinkSockets(directories, registered), ['a.sock', 'b', 'c.sock']);
    assert.deepEqual(files.map(existsSync), [false, false, false]);
    assert.deepEqual(unlinkSockets(directories, registered), [], 'they are gone');
  });

  it('are in that very directory: one that was exchanged for a link leads to no file of others', async () => {
    const { directories, etc } = kubelet();
    for (const door of [directories.devicePlugins, directories.registry]) {
      const registered = await listen(path.join(door, 'sub', 'shadow'));
      renameSync(path.join(door, 'sub'), path.join(door, 'away'));
      symlinkSync(etc, path.join(door, 'sub'));
      assert.deepEqual(unlinkSockets(directories, [registered]), []);
    }
    assert.ok(existsSync(path.join(etc, 'shadow')));
  });

  it('are those very sockets: a newer file of the same name stays', async () => {
    const { directories } = kubelet();
    const registered = await listen(path.join(directories.devicePlugins, 'a.sock'));
    renameSync(registered.socket, `${registered.socket}.old`);
    await listen(registered.socket);
    assert.deepEqual(unlinkSockets(directories, [registered]), []);
    unlinkSync(registered.socket);
    writeFileSync(registered.socket, '');
    assert.deepEqual(unlinkSockets(directories, [registered]), []);
    assert.ok(lstatSync(registered.socket).isFile());
  });

  it('are those of a kubelet that starts: all of the directory, and its own where that is asked for', async () => {
    const { directories } = kubelet();
    const { devicePlugins, kubeletSocket } = directories;
    for (const name of ['a.sock', '.b.sock', 'kubelet.sock']) await listen(path.join(devicePlugins, name));
    assert.deepEqual(removePluginSockets(directories), ['a.sock']);
    assert.ok(existsSync(kubeletSocket));
    assert.deepEqual(removePluginSockets(directories, true), []);
    assert.ok(!existsSync(kubeletSocket) && existsSync(path.join(devicePlugins, '.b.sock')));
  });
});

/** A process that does nothing. */
function idle(): { readonly pid: number } {
  const { child } = startCommand('sleep', ['600']);
  cleanup.push(() => child.kill('SIGKILL'));
  return { pid: child.pid ?? -1 };
}

describe('a plugin that runs already', () => {
  it('is called at the socket that registered, and at no other that has its name by now', async () => {
    const { directories, etc } = kubelet();
    const registered = await listen(path.join(directories.devicePlugins, 'a.sock'));
    const pin = pinRegistered(directories, registered);
    assert.ok(!('problem' in pin));
    pin.release();
    const ofRoot = await listen(path.join(etc, 'root.sock'));
    unlinkSync(registered.socket);
    symlinkSync(ofRoot.socket, registered.socket);
    assert.ok('problem' in pinRegistered(directories, registered));
    unlinkSync(registered.socket);
    await listen(registered.socket);
    assert.deepEqual(pinRegistered(directories, registered), {
      problem: 'missing',
      detail: 'another socket has its name',
    });
  });

  it('is stopped where the process is one of the user who made its socket', async (test) => {
    if (process.geteuid?.() !== 0) {
      test.skip('NOT TESTED: only root can give a socket to another user');
      return;
    }
    const { directories } = kubelet();
    const registered = await listen(path.join(directories.devicePlugins, 'a.sock'));
    const plugin = new AttachedPlugin(directories);
    const { pid } = idle();
    assert.ok(plugin.signal({ ...registered, pid }, 'SIGSTOP'));
    assert.ok(plugin.signal({ ...registered, pid }, 'SIGCONT'));
    chownSync(registered.socket, 4001, 4001);
    assert.ok(!plugin.signal({ ...registered, pid }, 'SIGSTOP'), 'its number is that of a process of root by now');
    assert.ok(plugin.signal({ ...registered, pid }, 'SIGCONT'), 'a process that was stopped may go on');
    assert.ok(!plugin.signal(undefined, 'SIGSTOP'));
  });
});
