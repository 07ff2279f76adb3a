import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { O_PATH } from '../../../src/platform/fs/name-calls.js';
import { mountInProc, mountOf } from '../../../src/platform/fs/users-mounts.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { cannotPrepare, inNamespaces } from '../../support/namespaces.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the mount of a descriptor', () => {
  it('is the same by the call and by /proc', () => {
    const libc = loadLibc();
    const ids = ['/', '/proc', '/dev', '/sys', tempDir()].map((at) => {
      const fd = openSync(at, O_PATH);
      const [mount, byCall, byFile] = [mountOf(fd), libc?.mountOf(fd), mountInProc(fd)];
      closeSync(fd);
      assert.deepEqual([mount, byCall ?? byFile], [byFile, byFile], at);
      return mount;
    });
    assert.ok(ids.every((id) => id > 0) && new Set(ids).size > 1, String(ids));
    assert.equal(libc?.mountOf(2 ** 30), undefined);
  });
});

const OWN_MOUNTS = ['--mount'];

/**
 * A file system of uid 4001 whose process never answers, as `fusermount -o allow_other` makes it. Its source is what that user says
 * (`-o fsname`), and looks like the option of a file system of root's.
 */
const mounted = (...points: readonly string[]): string =>
  points
    .map((point, nth) => {
      const fd = String(9 - nth);
      const options = `fd=${fd},rootmode=40000,user_id=4001,group_id=4001,allow_other`;
      return `exec ${fd}<>/dev/fuse && mount -i -t fuse -o ${options} user_id=0 ${point}`;
    })
    .join(' && ');

const impossible = process.getuid?.() === 0 ? cannotPrepare(OWN_MOUNTS, mounted('/mnt')) : 'it takes root';

describe('a file system of an ordinary user that never answers', { skip: impossible, timeout: 30_000 }, () => {
  const cleanup: (() => Promise<void> | void)[] = [];
  after(async () => {
    for (const clean of cleanup) await clean();
  });

  /** A plugin of `example.com/x` on `x.sock`. */
  async function plugin(root: string, at: string, door: 'register' | 'watcher' = 'register'): Promise<FakePlugin> {
    const socket = path.join(root, at);
    const one = await FakePlugin.start({ socket, resource: `example.com/${path.basename(at, '.sock')}`, door });
    cleanup.push(() => one.stop());
    return one;
  }

  it('in directories of sockets keeps nobody waiting', async () => {
    const root = tempDir();
    const [inDoor, inRegistry] = ['device-plugins/sub', 'plugins_registry/mine/x'].map((name) => path.join(root, name));
    for (const point of [inDoor, inRegistry]) mkdirSync(point ?? '', { recursive: true });
    const script = mounted(inDoor ?? '', inRegistry ?? '');
    const one = new BrokerProcess(root, {}, { within: inNamespaces(OWN_MOUNTS, script) });
    cleanup.push(() => one.close());
    await one.start();
    writeFileSync(path.join(root, 'plugins_registry/mine/hint'), '');
    const watched = await plugin(root, 'plugins_registry/mine/a.sock', 'watcher');
    await eventually('it is in', () => watched.notified.length === 1);
    const calling = await plugin(root, 'device-plugins/b.sock');
    await calling.register(one.kubeletSocket);
    const astray = await plugin(root, 'device-plugins/sub/c.sock');
    await assert.rejects(astray.register(one.kubeletSocket), /example.com\/c/);
    assert.equal((await one.status()).broker.phase, 'ready');
  });

  it('in the place of kubelet.sock keeps no broker from starting', async () => {
    const root = tempDir();
    const point = path.join(root, 'device-plugins/kubelet.sock');
    mkdirSync(point, { recursive: true });
    const one = new BrokerProcess(root, {}, { within: inNamespaces(OWN_MOUNTS, mounted(point, point)) });
    cleanup.push(() => one.close());
    await one.start();
    const calling = await plugin(root, 'device-plugins/b.sock');
    await calling.register(one.kubeletSocket);
    assert.equal((await one.status()).broker.phase, 'ready');
  });
});
