import assert from 'node:assert/strict';
import { closeSync, readlinkSync } from 'node:fs';
import { describe, it } from 'node:test';
import { keepProc } from '../../../src/platform/process/kept-proc.js';

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
