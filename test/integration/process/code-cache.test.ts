import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Script } from 'node:vm';
import { openBundle } from '../../../src/platform/process/code-cache.js';
import { distFile } from '../../support/dist.js';
import { tempDir } from '../../support/temp-dir.js';

/** Stands before what V8 wrote. */
const DIGEST_BYTES = 32;

/** A bundle that leaves a word and where it is in the global object. */
function bundle(file: string, word: string): string {
  writeFileSync(file, `'use strict';require('node:path');globalThis.left=[${JSON.stringify(word)},__dirname];`);
  return file;
}

const left = (): unknown => (globalThis as { left?: unknown }).left;

function keepCache(file: string): void {
  const { path: cache, bytes } = openBundle(file).cacheFile();
  writeFileSync(cache, bytes);
}

void describe('a bundle with a code cache', () => {
  void it('runs as a module does, without a cache and with it', () => {
    const folder = tempDir();
    const file = bundle(path.join(folder, 'a.cjs'), 'one');
    const first = openBundle(file);
    assert.equal(first.isFromCache, false);
    first.run();
    assert.deepEqual(left(), ['one', folder]);
    keepCache(file);
    const second = openBundle(file);
    assert.equal(second.isFromCache, true);
    second.run();
    assert.deepEqual(left(), ['one', folder]);
  });

  void it('is what the daemon starts from, where the same V8 built it', (test) => {
    const ofBuild = readFileSync(`${distFile('serve.cjs')}.cache`).subarray(DIGEST_BYTES);
    // Behind a magic number V8 notes its version.
    const isOurs = ofBuild.readUInt32LE(4) === new Script('0').createCachedData().readUInt32LE(4);
    if (isOurs) assert.equal(openBundle(distFile('serve.cjs')).isFromCache, true);
    else test.skip('another V8 built it');
  });

  void it('has nothing in it of what disturbs plugins for verify', () => {
    const words = 'the stream had ended already';
    assert.ok(readFileSync(distFile('serve-under-test.cjs'), 'utf8').includes(words));
    assert.ok(!readFileSync(distFile('serve.cjs'), 'utf8').includes(words));
  });

  void it('is compiled anew when the cache is of another source, the same length included', () => {
    const file = bundle(path.join(tempDir(), 'b.cjs'), 'old');
    keepCache(file);
    bundle(file, 'new');
    const changed = openBundle(file);
    assert.equal(changed.isFromCache, false);
    changed.run();
    assert.equal((left() as string[])[0], 'new');
  });

  for (const [how, damage] of [
    ['cut short', (bytes: Buffer) => bytes.subarray(0, 40)],
    ['overwritten', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 32), Buffer.alloc(bytes.length)])],
    ['empty', () => Buffer.alloc(0)],
  ] as const) {
    void it(`is compiled anew when the cache is ${how}`, () => {
      const file = bundle(path.join(tempDir(), 'c.cjs'), how);
      const { path: cache, bytes } = openBundle(file).cacheFile();
      writeFileSync(cache, damage(bytes));
      openBundle(file).run();
      assert.equal((left() as string[])[0], how);
    });
  }

  void it('is what the build leaves of the daemon', () => {
    assert.ok(existsSync(`${distFile('serve.cjs')}.cache`), 'the build wrote no cache');
  });
});
