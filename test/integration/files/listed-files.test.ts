import assert from 'node:assert/strict';
import { chownSync, linkSync, mkdirSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { BYTES_OF_ONE, listFiles, MOST_BELOW_ONE, MOST_BYTES } from '../../../src/platform/fs/listed-files.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the files of a registry directory', () => {
  it('are listed without hidden names, and without what is in hidden directories, at a start and at each rescan', () => {
    const root = tempDir();
    for (const folder of ['.dir', 'dir']) mkdirSync(path.join(root, folder));
    for (const file of ['a.sock', '.b.sock', '.dir/c.sock', 'dir/d.sock', 'dir/.e.sock'])
      symlinkSync('nowhere', path.join(root, file));
    const paths = new SocketPaths([root], () => false);
    const listed = Array.from(listFiles(paths, root)).filter((file) => file !== undefined);
    assert.deepEqual(listed.sort(), [path.join(root, 'a.sock'), path.join(root, 'dir/d.sock')]);
  });

  it(
    "are listed below all names of the broker's user, whatever others make",
    { skip: process.getuid?.() !== 0 },
    () => {
      const root = tempDir();
      const [others, own] = [['a', 'b', 'c', 'd', 'e'], ['own']];
      for (const top of others) {
        for (let nth = 0; nth < 300; nth += 1) mkdirSync(path.join(root, top, String(nth)), { recursive: true });
        chownSync(path.join(root, top), 4001, 4001);
      }
      for (const top of own) mkdirSync(path.join(root, top));
      symlinkSync('nowhere', path.join(root, 'own', 'a.sock'));
      const paths = new SocketPaths([root], () => false);
      const met: string[] = [];
      const listed = Array.from(listFiles(paths, root, (one) => met.push(path.relative(root, one)))).filter(Boolean);
      assert.deepEqual(listed, [path.join(root, 'own', 'a.sock')]);
      assert.deepEqual(met.slice(0, 2), ['', 'own']);
      assert.equal(met.length, 2 + 1024);
    },
  );

  it(
    'are listed below each name of ours where others made a thousand beside it',
    { skip: process.getuid?.() !== 0 },
    () => {
      const root = tempDir();
      // A file system may give the newest name first, or the oldest.
      const own = ['first', 'last'].map((top) => path.join(root, top));
      for (const top of own) {
        mkdirSync(top);
        symlinkSync('nowhere', path.join(top, 'a.sock'));
        for (let nth = 0; nth < 1024; nth += 1) {
          const other = `${top}${String(nth)}`;
          mkdirSync(other);
          chownSync(other, 4001, 4001);
        }
      }
      const listed = Array.from(listFiles(new SocketPaths([root], () => false), root)).filter(Boolean);
      assert.deepEqual(
        listed.sort(),
        own.map((top) => path.join(top, 'a.sock')),
      );
    },
  );

  it(
    'are not looked for in directories that users made long, empty or not',
    { skip: process.getuid?.() !== 0 },
    (t) => {
      const root = tempDir();
      const folder = path.join(root, 'long');
      mkdirSync(folder);
      const names = Array.from({ length: 20_000 }, (_, nth) => path.join(folder, `${String(nth)}${'x'.repeat(245)}`));
      // A file may have 65,000 names where it has the fewest.
      writeFileSync(path.join(folder, 'file'), '');
      for (const name of names) linkSync(path.join(folder, 'file'), name);
      symlinkSync('nowhere', path.join(folder, 'a.sock'));
      for (const name of names) unlinkSync(name);
      if (statSync(folder).size <= MOST_BYTES) {
        t.skip('the file system makes directories shorter');
        return;
      }
      const listed = (): (string | undefined)[] =>
        Array.from(listFiles(new SocketPaths([root], () => false), root)).filter(Boolean);
      assert.deepEqual(listed(), [path.join(folder, 'a.sock')]);
      chownSync(folder, 4001, 4001);
      assert.deepEqual(listed(), []);
    },
  );

  it('are looked for in fewer directories of a user where these are long', { skip: process.getuid?.() !== 0 }, (t) => {
    const root = tempDir();
    const folders = Array.from({ length: 20 }, (_, nth) => path.join(root, 'user', String(nth)));
    writeFileSync(path.join(root, 'file'), '');
    for (const folder of folders) {
      mkdirSync(folder, { recursive: true });
      for (let nth = 0; nth < 2_500; nth += 1)
        linkSync(path.join(root, 'file'), path.join(folder, `${String(nth)}${'x'.repeat(245)}`));
      symlinkSync('nowhere', path.join(folder, 'a.sock'));
      chownSync(folder, 4001, 4001);
    }
    const [size = 0] = folders.map((folder) => statSync(folder).size);
    if (size <= MOST_BYTES / 2 || size > MOST_BYTES) {
      t.skip('the file system gives directories other lengths');
      return;
    }
    const listed = Array.from(listFiles(new SocketPaths([root], () => false), root)).filter(Boolean);
    const most = Math.ceil(MOST_BELOW_ONE / Math.floor(MOST_BYTES / 2 / BYTES_OF_ONE));
    assert.ok(listed.length > 0 && listed.length < folders.length && listed.length <= most, String(listed.length));
  });
});
