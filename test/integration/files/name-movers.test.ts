import assert from 'node:assert/strict';
import { chmodSync, chownSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { movableNames, namesMove } from '../../../src/platform/fs/name-movers.js';
import { tempDir } from '../../support/temp-dir.js';
import { FakeClock } from '../../support/fake-clock.js';

const OTHER_UID = 54321;

describe('the names in a directory', () => {
  it('may be moved by other users that may write it, where it is not sticky', () => {
    const directory = tempDir();
    for (const [mode, said] of [
      [0o755, undefined],
      [0o1777, undefined],
      [0o1775, undefined],
      [0o775, /may be written by group .*, and is not sticky.*: chmod \+t/],
      [0o757, /may be written by everybody, and is not sticky.*: chmod \+t/],
    ] as const) {
      chmodSync(directory, mode);
      if (said === undefined) assert.equal(movableNames(directory), undefined, mode.toString(8));
      else assert.match(movableNames(directory) ?? '', said);
    }
    assert.equal(movableNames(path.join(directory, 'missing')), undefined);
  });

  it(
    "may be moved by its owner, sticky or not, where that is not root or the broker's user",
    { skip: process.getuid?.() === 0 ? false : 'SKIPPED: only root can be another user' },
    () => {
      const directory = tempDir();
      chownSync(directory, OTHER_UID, OTHER_UID);
      chmodSync(directory, 0o1755);
      assert.match(movableNames(directory) ?? '', /is uid 54321's, so that .*: make it root's/);
    },
  );

  it('are asked for by the door, and the directory is read once a second', async () => {
    const [devicePlugins, pluginsRegistry] = [tempDir(), tempDir()];
    const clock = new FakeClock();
    chmodSync(devicePlugins, 0o775);
    const move = namesMove({ devicePlugins, pluginsRegistry }, clock);
    assert.deepEqual([move('register'), move('watcher')], [true, false]);
    chmodSync(devicePlugins, 0o1775);
    assert.equal(move('register'), true);
    await clock.advance(1000);
    assert.equal(move('register'), false);
  });
});
