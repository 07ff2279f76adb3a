import assert from 'node:assert/strict';
import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { keepParts, keepProc } from '../../../src/platform/process/kept-names.js';

describe('the names of our own process', () => {
  it('are held open, so that no look at them waits for a lock', () => {
    const kept = keepProc();
    const led = kept.map((fd) => readlinkSync(`/proc/self/fd/${String(fd)}`));
    for (const fd of kept) closeSync(fd);
    const own = `/proc/${String(process.pid)}`;
    const names = ['fd', 'fdinfo', 'limits', 'mountinfo', 'stat', 'status', 'task'];
    assert.deepEqual(
      led.sort(),
      names.map((name) => `${own}/${name}`),
    );
  });
});

describe('the parts of the program that are loaded on demand', () => {
  it('are all held open, so that loading one does not wait for the lock of its directory', () => {
    const lazy = path.resolve('dist/lazy');
    const kept = keepParts(pathToFileURL(path.resolve('dist/serve.cjs')).href);
    const led = kept.map((fd) => readlinkSync(`/proc/self/fd/${String(fd)}`));
    for (const fd of kept) closeSync(fd);
    const parts = readdirSync(lazy).filter((name) => name.endsWith('.cjs'));
    assert.deepEqual(led.sort(), parts.map((name) => path.join(lazy, name)).sort());
    assert.ok(parts.length > 0);
  });
});
