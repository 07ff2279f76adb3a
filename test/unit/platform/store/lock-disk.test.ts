import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LockDisk } from '../../../../src/platform/store/lock-disk.js';
import { FakeClock } from '../../../support/fake-clock.js';

describe('the disk below the lock', () => {
  it('has one time for the steps of a turn', async () => {
    const clock = new FakeClock();
    const disk = new LockDisk(clock);
    const step = disk.step(() => new Promise<void>((resolve) => void clock.alarm(1000, resolve)));
    await clock.advance(1000);
    await step;
    const second = assert.rejects(
      disk.step(() => new Promise(() => undefined)),
      /the disk does not answer/,
    );
    await clock.advance(500);
    await second;
    assert.equal(disk.tookMs, 1500);
    assert.equal(clock.pending, 0);
  });

  it('has its whole time again in the next turn', async () => {
    const clock = new FakeClock();
    const disk = new LockDisk(clock);
    for (let turn = 0; turn < 3; turn += 1) {
      const step = disk.step(() => new Promise<string>((resolve) => void clock.alarm(1000, () => resolve('done'))));
      await clock.advance(1000);
      assert.equal(await step, 'done');
      disk.renew();
    }
    assert.deepEqual([disk.tookMs, disk.hanging], [0, undefined]);
  });

  it('has what comes late undone, and tells when', async () => {
    const clock = new FakeClock();
    const disk = new LockDisk(clock);
    const undone: string[] = [];
    let answer: (what: string) => void = () => undefined;
    const step = assert.rejects(
      disk.step(
        () => new Promise<string>((resolve) => (answer = resolve)),
        (late) => void undone.push(late),
      ),
    );
    await clock.advance(1500);
    await step;
    let isOver = false;
    void disk.hanging?.then(() => (isOver = true));
    await clock.advance(60_000);
    assert.deepEqual([undone, isOver], [[], false]);
    answer('the lock');
    await clock.settle();
    assert.deepEqual([undone, isOver], [['the lock'], true]);
  });

  it('passes on what is wrong with a step, which hangs nowhere', async () => {
    const disk = new LockDisk(new FakeClock());
    await assert.rejects(
      disk.step(() => Promise.reject(new Error('EROFS'))),
      /EROFS/,
    );
    assert.equal(disk.hanging, undefined);
  });
});
