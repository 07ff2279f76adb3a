import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FileTurns } from '../../../src/checkpoint/file-turns.js';

/** Turns on a disk that takes `fileMs` for each file. */
class Bed {
  now = 0;
  fileMs = 1;
  readonly sizes: number[] = [];
  readonly turns = new FileTurns({ mono: () => this.now });
  goesOn = (): boolean => false;

  async before(isAwaited: boolean): Promise<readonly number[]> {
    this.sizes.length = 0;
    const write = (files: number): Promise<void> => {
      this.sizes.push(files);
      this.now += this.fileMs * files;
      return Promise.resolve();
    };
    await this.turns.before(isAwaited, write, () => this.goesOn());
    return [...this.sizes];
  }
}

describe('turns of files before generations', () => {
  it('are four at a time until somebody waits, or a quarter of a second is over', async () => {
    const bed = new Bed();
    let left = 3;
    bed.goesOn = () => (left -= 1) > 0;
    assert.deepEqual(await bed.before(false), [4, 4, 4]);
    bed.goesOn = () => true;
    assert.equal((await bed.before(false)).length, 63, '252 ms');
  });

  it('are one at a time on a slow disk', async () => {
    const bed = new Bed();
    bed.fileMs = 60;
    bed.goesOn = () => true;
    assert.deepEqual(await bed.before(false), [4, 1]);
    bed.fileMs = 1;
    assert.deepEqual((await bed.before(false)).slice(0, 3), [1, 4, 4]);
  });

  it('are one file beside others who wait, and have a tenth of the time', async () => {
    const bed = new Bed();
    bed.fileMs = 60;
    bed.goesOn = () => true;
    const began: number[] = [];
    while (bed.now < 2400) {
      if ((await bed.before(true)).length > 0) began.push(bed.now - bed.fileMs);
      bed.now += 10; // the generation
    }
    assert.deepEqual(bed.sizes.length <= 1, true);
    assert.ok(began.length >= 3 && began.length <= 5, `${String(began.length)} files in 2.4 s`);
  });

  it('rest no longer than anybody rests after a turn in which the machine was frozen', async () => {
    const bed = new Bed();
    bed.fileMs = 60_000;
    assert.deepEqual(await bed.before(true), [1]);
    bed.now += 4999;
    assert.deepEqual(await bed.before(true), []);
    bed.now += 1;
    assert.deepEqual(await bed.before(true), [1]);
  });

  it('count what failed, too', async () => {
    const bed = new Bed();
    const failing = async (): Promise<void> => {
      bed.now += 60;
      await Promise.reject(new Error('EIO'));
    };
    await assert.rejects(
      bed.turns.before(true, failing, () => false),
      /EIO/,
    );
    assert.deepEqual(await bed.before(true), []);
    bed.now += 540;
    assert.deepEqual(await bed.before(true), [1]);
  });
});
