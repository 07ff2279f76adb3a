import assert from 'node:assert/strict';
import { lchownSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { probe } from '../../../src/cli/doctor/probe.js';
import { DirectoryWatch } from '../../../src/platform/fs/directory-watch.js';
import { listFiles } from '../../../src/platform/fs/listed-files.js';
import { KeptSockets } from '../../../src/platform/fs/kept-sockets.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { CallFailed } from '../../../src/platform/grpc/plugin-client.js';
import { kubeletsOwn } from '../../../src/platform/kubelet/kubelets-own.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54_321;
const asRoot = process.getuid?.() === 0 ? false : 'only root can give sockets to others';

const cleanup: (() => unknown)[] = [];
after(() => cleanup.forEach((clean) => clean()));

/** Somebody's directory `way` below a registry directory, and another one of the same form elsewhere. */
function world() {
  const root = tempDir();
  const [registry, elsewhere] = [path.join(root, 'registry'), path.join(root, 'elsewhere')];
  const way = path.join(registry, 'way');
  for (const base of [way, elsewhere]) mkdirSync(path.join(base, 'sub'), { recursive: true });
  symlinkSync('nowhere', path.join(elsewhere, 'sub', 'secret'));
  const exchange = (directory = way, target = elsewhere): void => {
    renameSync(directory, path.join(registry, '.away'));
    symlinkSync(target, directory);
  };
  // A link of any user is trusted.
  const paths = new SocketPaths([registry], () => true);
  return { registry, elsewhere, way, sub: path.join(way, 'sub'), exchange, paths };
}

/** @returns how many came */
async function listen(file: string): Promise<() => number> {
  let came = 0;
  const server = createServer((socket) => {
    came += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(file, resolve));
  cleanup.push(() => server.close());
  return () => came;
}

void describe('a directory on the way that is exchanged for a link', () => {
  void it('leads no watch elsewhere', async () => {
    const { registry, elsewhere, sub, exchange, paths } = world();
    const hints: string[] = [];
    const watch = new DirectoryWatch(paths, registry, {
      hint: (file) => hints.push(file),
      rescan: () => undefined,
      lost: () => undefined,
      degraded: (why) => assert.equal(why, undefined),
    });
    cleanup.push(() => watch.close());
    watch.start();
    await eventually('it is watched', () => hints.includes(sub));
    hints.length = 0;
    exchange();
    assert.deepEqual(watch.follow(sub), { isOther: true }, 'the directory has gone');
    writeFileSync(path.join(elsewhere, 'sub', 'news'), '');
    writeFileSync(path.join(registry, 'last'), '');
    await eventually('events were told', () => hints.includes(path.join(registry, 'last')));
    assert.deepEqual(
      hints.filter((file) => file.startsWith(sub)),
      [],
    );
  });

  void it('is not read, even when that happens between its name and its entries', () => {
    for (const isAbove of [true, false]) {
      const { registry, elsewhere, way, sub, exchange, paths } = world();
      const [directory, target] = isAbove ? [way, elsewhere] : [sub, path.join(elsewhere, 'sub')];
      const met = (one: string): void => {
        if (one === sub) exchange(directory, target);
      };
      assert.deepEqual(
        Array.from(listFiles(paths, registry, met)).filter((file) => file !== undefined),
        [],
      );
    }
  });

  void it('does not tell the owners of files elsewhere', { skip: asRoot }, () => {
    const { elsewhere, sub, exchange, registry } = world();
    const paths = new SocketPaths([registry], (uid) => uid === 0);
    const [theirs, ours] = [path.join(sub, 'theirs'), path.join(sub, 'ours')];
    for (const file of [theirs, ours]) writeFileSync(file, '');
    lchownSync(theirs, OTHER_UID, OTHER_UID);
    assert.deepEqual([theirs, ours].map(paths.ownerOf), [OTHER_UID, 0]);
    lchownSync(sub, OTHER_UID, OTHER_UID);
    assert.deepEqual([theirs, ours].map(paths.ownerOf), [OTHER_UID, OTHER_UID], 'of the user that can fill it');
    exchange();
    lchownSync(path.join(registry, 'way'), OTHER_UID, OTHER_UID);
    writeFileSync(path.join(elsewhere, 'sub', 'ours'), '');
    assert.equal(paths.ownerOf(ours), -1);
  });

  void it('leads nobody to make a folder elsewhere', async () => {
    const { elsewhere, sub, exchange, paths } = world();
    const file = path.join(sub, 'a.sock');
    await listen(file);
    const pinned = paths.pin(file);
    assert.ok('incarnation' in pinned);
    cleanup.push(() => pinned.release());
    const kept = new KeptSockets({ isListening: () => true, paths });
    cleanup.push(() => kept.close());
    exchange();
    const before = statSync(path.join(elsewhere, 'sub'), { bigint: true }).mtimeNs;
    assert.match(kept.remove(pinned) ?? '', /no private folder can be made beside it/);
    assert.equal(statSync(path.join(elsewhere, 'sub'), { bigint: true }).mtimeNs, before, 'nothing was made there');
  });
});

void describe("the kubelet's socket", () => {
  void it('is dialled as what it was when it was looked at', async () => {
    const { elsewhere } = world();
    const file = path.join(elsewhere, 'kubelet.sock');
    assert.throws(() => kubeletsOwn(file), /there is no .*kubelet\.sock \(ENOENT\)/);
    await listen(file);
    const pinned = kubeletsOwn(file);
    assert.deepEqual([pinned.path, pinned.dialPath.startsWith('/proc/self/fd/')], [file, true]);
    pinned.release();
  });

  void it('is not what a stranger put there, nor where their link leads', { skip: asRoot }, async () => {
    const { elsewhere } = world();
    const [file, link] = [path.join(elsewhere, 'kubelet.sock'), path.join(elsewhere, 'link.sock')];
    await listen(file);
    symlinkSync('kubelet.sock', link);
    kubeletsOwn(link).release();
    lchownSync(link, OTHER_UID, OTHER_UID);
    assert.throws(() => kubeletsOwn(link), /a link of uid 54321, whose links are not followed/);
    lchownSync(file, OTHER_UID, OTHER_UID);
    assert.throws(
      () => kubeletsOwn(file),
      (failure) =>
        failure instanceof CallFailed && /belongs to uid 54321, which is not the kubelet's/.test(failure.message),
    );
  });
});

void describe('the doctor', () => {
  void it(
    'connects to nobody through a link that a stranger made, on the way or at the end',
    { skip: asRoot },
    async () => {
      const { registry, elsewhere, sub, exchange } = world();
      const came = await listen(path.join(elsewhere, 'sub', 'a.sock'));
      const link = path.join(registry, 'link.sock');
      symlinkSync('../elsewhere/sub/a.sock', link);
      assert.equal(await probe(link, registry), 'listening', 'root made it');
      lchownSync(link, OTHER_UID, OTHER_UID);
      exchange();
      lchownSync(path.join(registry, 'way'), OTHER_UID, OTHER_UID);
      const before = came();
      for (const file of [link, path.join(sub, 'a.sock')]) assert.equal(await probe(file, registry), 'missing', file);
      assert.equal(came(), before);
    },
  );
});
