import assert from 'node:assert/strict';
import fs, { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, describe, it, mock } from 'node:test';
import { Worker } from 'node:worker_threads';
import { removeTree } from '../../../src/platform/fs/remove-tree.js';
import { tempDir } from '../../support/temp-dir.js';
import { replaceDirectory } from '../../../src/verify/registry-faults.js';

/** Exchanges two names as fast as it can, in a thread of its own. */
const EXCHANGE = `
const { renameSync } = require('node:fs');
const { workerData: { one, other, spare, flag } } = require('node:worker_threads');
const told = new Int32Array(flag);
Atomics.store(told, 0, 1);
while (Atomics.load(told, 0) === 1) {
  try { renameSync(one, spare); renameSync(other, one); renameSync(spare, other); } catch {}
}`;

afterEach(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
});

describe('removing a directory with all that is in it', () => {
  it('removes what is there, links as links, and nothing elsewhere', () => {
    const root = tempDir();
    mkdirSync(path.join(root, 'tree', 'a', 'b'), { recursive: true });
    mkdirSync(path.join(root, 'other'));
    writeFileSync(path.join(root, 'other', 'kept'), '');
    writeFileSync(path.join(root, 'tree', 'a', 'b', 'file'), '');
    symlinkSync('../../other', path.join(root, 'tree', 'a', 'link'));
    assert.equal(removeTree(path.join(root, 'tree')), true);
    assert.equal(removeTree(path.join(root, 'tree')), true, 'it is gone');
    assert.deepEqual(readdirSync(root), ['other']);
    symlinkSync('other', path.join(root, 'way'));
    assert.equal(removeTree(path.join(root, 'way')), true);
    assert.deepEqual(readdirSync(path.join(root, 'other')), ['kept']);
  });

  it('is led nowhere by a directory in it that is exchanged for a link meanwhile', async () => {
    const root = tempDir();
    const victim = path.join(root, 'victim');
    mkdirSync(victim);
    const names = Array.from({ length: 200 }, (_, nth) => `file-${String(nth)}`);
    for (const name of names) writeFileSync(path.join(victim, name), '');
    const flag = new SharedArrayBuffer(4);
    for (let round = 0; round < 6; round += 1) {
      const tree = path.join(root, 'tree');
      const [one, other] = [path.join(tree, 'one'), path.join(tree, 'other')];
      mkdirSync(one, { recursive: true });
      for (const name of names) writeFileSync(path.join(one, name), '');
      symlinkSync(victim, other);
      const workerData = { one, other, spare: path.join(tree, 'spare'), flag };
      const told = new Int32Array(flag);
      Atomics.store(told, 0, 0);
      const thread = new Worker(EXCHANGE, { eval: true, workerData });
      await new Promise((resolve) => thread.once('online', resolve));
      removeTree(tree);
      Atomics.store(told, 0, 2);
      await thread.terminate();
      removeTree(tree);
    }
    assert.equal(readdirSync(victim).length, names.length);
  });

  it('a directory of sockets that goes and comes has the mode it had, and so have those in it', () => {
    const root = tempDir();
    const registry = path.join(root, 'plugins_registry');
    mkdirSync(path.join(registry, 'own'), { recursive: true });
    writeFileSync(path.join(registry, 'own', 'file'), '');
    chmodSync(path.join(registry, 'own'), 0o770);
    chmodSync(registry, 0o2775);
    replaceDirectory(registry);
    assert.equal(statSync(registry).mode & 0o7777, 0o2775);
    assert.equal(statSync(path.join(registry, 'own')).mode & 0o777, 0o770);
    assert.equal(existsSync(path.join(registry, 'own', 'file')), false);
    assert.deepEqual(readdirSync(root), ['plugins_registry']);
  });

  it('comes without the directories in it that their users remove or exchange while it goes', () => {
    const root = tempDir();
    const registry = path.join(root, 'plugins_registry');
    for (const name of ['exchanged', 'kept', 'removed']) mkdirSync(path.join(registry, name), { recursive: true });
    chmodSync(registry, 0o2775);
    const { readdirSync: list } = fs;
    mock.method(fs, 'readdirSync', ((directory: string, options: { withFileTypes: true }) => {
      const entries = list(directory, options);
      fs.rmdirSync(path.join(directory, 'removed'));
      fs.rmdirSync(path.join(directory, 'exchanged'));
      symlinkSync('/', path.join(directory, 'exchanged'));
      return entries;
    }) as typeof fs.readdirSync);
    syncBuiltinESMExports();
    replaceDirectory(registry);
    assert.equal(statSync(registry).mode & 0o7777, 0o2775);
    assert.deepEqual([list(registry), list(root)], [['kept'], ['plugins_registry']]);
  });

  it('is open to its users also where something in it cannot be made again', () => {
    const root = tempDir();
    const registry = path.join(root, 'plugins_registry');
    mkdirSync(path.join(registry, 'own'), { recursive: true });
    chmodSync(registry, 0o2775);
    const { mkdirSync: make } = fs;
    mock.method(fs, 'mkdirSync', ((directory: string, options: fs.MakeDirectoryOptions) => {
      if (path.basename(directory) === 'own') throw new Error('ENOSPC');
      return make(directory, options);
    }) as typeof fs.mkdirSync);
    syncBuiltinESMExports();
    assert.throws(() => replaceDirectory(registry), /ENOSPC/);
    assert.equal(statSync(registry).mode & 0o7777, 0o2775);
    assert.deepEqual(readdirSync(root), ['plugins_registry']);
  });
});
