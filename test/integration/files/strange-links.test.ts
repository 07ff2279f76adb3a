import assert from 'node:assert/strict';
import { chmodSync, lchownSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { keyAt } from '../../../src/platform/fs/socket-pin.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54_321;
const skip = process.getuid?.() === 0 ? false : 'only root can give links to others';

const cleanup: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const clean of cleanup) await clean();
});

/** A socket on which somebody listens, and counts who comes. */
async function listening(
  file: string,
): Promise<{ readonly server: Server; readonly directory: string; readonly came: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(file, resolve));
  cleanup.push(() => void server.close());
  return { server, directory: path.dirname(file), came: () => count };
}

/** Makes a link of a user, which is never seen as one of ours. */
function linkOf(uid: number, target: string, file: string): void {
  const made = path.join(path.dirname(file), `.${path.basename(file)}`);
  symlinkSync(target, made);
  lchownSync(made, uid, uid);
  renameSync(made, file);
}

/** A directory with a socket, a link to it, a link to its folder, and a socket elsewhere. */
async function world() {
  const root = tempDir();
  const door = path.join(root, 'door');
  mkdirSync(path.join(door, 'sub'), { recursive: true });
  await listening(path.join(door, 'one.sock'));
  await listening(path.join(door, 'sub', 'two.sock'));
  await listening(path.join(root, 'out.sock'));
  symlinkSync('one.sock', path.join(door, 'link.sock'));
  symlinkSync('sub', path.join(door, 'by'));
  symlinkSync('../out.sock', path.join(door, 'out.sock'));
  symlinkSync('door', path.join(root, 'way'));
  return { root, door };
}

void describe('links in directories that others may write', () => {
  void it('are not followed where a stranger made them, at the end and on the way', async () => {
    const { door } = await world();
    const paths = new SocketPaths([door], () => false);
    for (const name of ['one.sock', 'sub/two.sock']) {
      const file = path.join(door, name);
      assert.equal(paths.keyAt(file), keyAt(file));
      const pinned = paths.pin(file);
      assert.ok('incarnation' in pinned, name);
      assert.equal(pinned.path, file);
      pinned.release();
    }
    for (const name of ['link.sock', 'by/two.sock', 'out.sock', 'none.sock', 'sub', 'one.sock/x']) {
      assert.equal(paths.keyAt(path.join(door, name)), undefined, name);
    }
    assert.deepEqual(paths.pin(path.join(door, 'link.sock')), {
      problem: 'not-a-socket',
      detail: `a link of uid ${String(process.getuid?.())}, whose links are not followed`,
    });
    assert.deepEqual(paths.pin(path.join(door, 'by', 'two.sock')), { problem: 'missing', detail: 'ENOTDIR' });
    assert.deepEqual(paths.pin(path.join(door, 'none.sock')), { problem: 'missing', detail: 'ENOENT' });
    const elsewhere = path.join(path.dirname(door), 'out.sock');
    assert.equal(paths.keyAt(elsewhere), undefined, 'a path below no root is not looked at');
    assert.deepEqual(paths.pin(elsewhere), { problem: 'missing', detail: 'ENOENT' });
    assert.deepEqual(paths.pin(path.join(door, 'sub')), { problem: 'not-a-socket', detail: 'a directory' });
  });

  void it('are followed where root or our own user made them, and so is the way to the directory', async () => {
    const { root, door } = await world();
    const trusting = new SocketPaths([door], (uid) => uid === process.getuid?.());
    for (const name of ['link.sock', 'by/two.sock', 'out.sock']) {
      const file = path.join(door, name);
      assert.equal(trusting.keyAt(file), keyAt(file), name);
      const pinned = trusting.pin(file);
      assert.ok('incarnation' in pinned, name);
      pinned.release();
    }
    const byWay = new SocketPaths([path.join(root, 'way')], () => false);
    for (const file of [path.join(root, 'way', 'one.sock'), path.join(door, 'one.sock')]) {
      assert.equal(byWay.keyAt(file), keyAt(file));
    }
    for (const file of [path.join(root, 'way', 'link.sock'), path.join(door, 'link.sock')]) {
      assert.equal(byWay.keyAt(file), undefined);
    }
  });

  void it('of root are not followed where others may move them, and put another one in their place', async () => {
    const { door } = await world();
    const trusting = new SocketPaths([door], (uid) => uid === process.getuid?.());
    const file = (name: string): string => path.join(door, name);
    const uid = String(process.getuid?.());
    chmodSync(door, 0o775);
    assert.deepEqual(trusting.pin(file('link.sock')), {
      problem: 'not-a-socket',
      detail: `a link of uid ${uid}, in a directory in which others may move it`,
    });
    for (const name of ['link.sock', 'by/two.sock', 'out.sock'])
      assert.equal(trusting.keyAt(file(name)), undefined, name);
    assert.equal(trusting.keyAt(file('one.sock')), keyAt(file('one.sock')), 'a socket is seen');
    // With the sticky bit only its owner may.
    chmodSync(door, 0o1775);
    for (const name of ['link.sock', 'by/two.sock', 'out.sock']) {
      assert.equal(trusting.keyAt(file(name)), keyAt(file(name)), name);
    }
    // Nor below a directory that others may move.
    symlinkSync('two.sock', file('sub/link.sock'));
    assert.ok('incarnation' in trusting.pin(file('sub/link.sock')));
    chmodSync(door, 0o775);
    assert.ok('problem' in trusting.pin(file('sub/link.sock')));
  });

  void it('of another user lead the broker to nobody, and Register to no socket', { skip }, async () => {
    const broker = new BrokerProcess(tempDir(), {});
    cleanup.push(() => broker.close());
    await broker.start();
    const hidden = tempDir();
    chmodSync(hidden, 0o700);
    const secret = await listening(path.join(hidden, 's.sock'));
    const registry = path.join(broker.root, 'plugins_registry');
    for (const [uid, name] of [
      [OTHER_UID, 'theirs.sock'],
      [0, 'ours.sock'],
    ] as const) {
      linkOf(uid, path.join(hidden, 's.sock'), path.join(registry, name));
      if (uid === 0) continue;
      const plugin = await FakePlugin.start({
        socket: path.join(broker.devicePlugins, 'real.sock'),
        resource: 'example.com/real',
      });
      cleanup.push(() => plugin.stop());
      linkOf(uid, 'real.sock', path.join(broker.devicePlugins, 'alias.sock'));
      const refused = plugin.register(broker.kubeletSocket, { endpoint: 'alias.sock' });
      await assert.rejects(refused, /ENDPOINT_NOT_SOCKET: .*a link of uid 54321, whose links are not followed/);
      await plugin.register(broker.kubeletSocket);
      assert.equal(secret.came(), 0);
    }
    await eventually("root's link is followed", () => secret.came() > 0);
  });

  void it('lead a start nowhere that finds them in the place of a plugin it knew', { skip }, async () => {
    const broker = new BrokerProcess(tempDir(), {});
    cleanup.push(() => broker.close());
    await broker.start();
    const socket = path.join(broker.devicePlugins, 'known.sock');
    const plugin = await FakePlugin.start({ socket, resource: 'example.com/known' });
    cleanup.push(() => plugin.stop());
    await plugin.register(broker.kubeletSocket);
    await eventually('it is kept', async () => (await broker.allocatable('example.com/known')) === 2);
    await broker.end();
    const secret = await listening(path.join(tempDir(), 's.sock'));
    linkOf(OTHER_UID, path.join(secret.directory, 's.sock'), socket);
    await broker.start();
    assert.equal(secret.came(), 0);
  });
});
