import assert from 'node:assert/strict';
import fs, { chmodSync, mkdirSync, renameSync, writeFileSync, type FSWatcher } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Turns } from '../../../src/kernel/pace.js';
import { eventBudget, PacedWatch } from '../../../src/platform/fs/paced-watch.js';
import { directoryMarks, type Marks } from '../../../src/platform/peer/directory-marks.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('the watch of one directory', () => {
  void it('that is too busy is let go for a moment, says so when it is watched again, and tells of files that come then', async () => {
    const [directory, clock] = [tempDir(), new FakeClock()];
    const names = new Set<string>();
    let [events, watched, rested] = [0, 0, 0];
    const watch = new PacedWatch((work) => work(directory), {
      clock,
      budget: eventBudget(),
      changed: (name) => {
        events += 1;
        names.add(name);
      },
      marks: directoryMarks(),
      watched: () => (watched += 1),
      rested: () => (rested += 1),
      failed: (failure) => assert.fail(failure),
    });
    assert.equal(watched, 0);
    await eventually('it is watched', () => watched > 0);
    const file = path.join(directory, 'busy');
    writeFileSync(file, '');
    await eventually('it is told', () => names.has('busy'));
    // Events of one kind and name in a row are one: these differ.
    const others = Array.from({ length: 1500 }, (_, at) => path.join(directory, String(at)));
    for (const other of others) writeFileSync(other, '');
    for (const other of others) chmodSync(other, 0o600);
    await eventually('it rests', () => clock.pending > 0);
    const taken = events;
    assert.ok(taken <= 2048, `${String(taken)} events were taken`);
    assert.deepEqual([watched, rested], [1, 1]);

    await clock.advance(250);
    await eventually('it is watched again', () => watched > 1);
    writeFileSync(path.join(directory, 'late'), '');
    await eventually('a later file is told', () => names.has('late'));
    watch.close();
    watch.close();
  });

  /** A watch, what was told, and turns that are given by hand. */
  const world = (directory: string, tookMs = 0) => {
    const [clock, told, turns] = [new FakeClock(), [] as string[], [] as (() => void)[]];
    const marks: Marks = {
      during: async (open, watch) => {
        await new Promise<void>((resolve) => turns.push(resolve));
        if (open() !== undefined) watch(directory);
        return tookMs;
      },
      hold: () => {
        told.push('marked');
        return () => told.push('unmarked');
      },
    };
    const watch = new PacedWatch((work) => work(`${directory}/.`), {
      clock,
      budget: new Turns({ burst: 1, intervalMs: 1 }),
      marks,
      changed: (name) => told.push(name),
      watched: () => told.push('watched'),
      rested: () => undefined,
      failed: (failure) => told.push((failure as NodeJS.ErrnoException).code ?? ''),
    });
    const isTold = (what: string): Promise<unknown> => eventually(what, () => told.includes(what));
    return { clock, told, turns, watch, isTold };
  };

  void it('is set in its turn, is marked while it is let go, and is told each time', async () => {
    const directory = tempDir();
    const { clock, told, turns, watch, isTold } = world(directory);
    writeFileSync(path.join(directory, 'early'), '');
    turns[0]?.();
    await isTold('watched');
    assert.deepEqual(told, ['watched']);
    for (const name of ['late', 'later', 'latest']) writeFileSync(path.join(directory, name), '');
    await isTold('marked');
    assert.deepEqual(told, ['watched', 'late', 'marked']);
    told.length = 0;
    await clock.advance(250);
    assert.deepEqual(told, []);
    turns[1]?.();
    await isTold('watched');
    assert.deepEqual(told, ['unmarked', 'watched']);
    watch.close();
  });

  void it('marks no other directory that was put in its place when it is let go, and rests longer the longer it takes', async () => {
    const directory = path.join(tempDir(), 'busy');
    mkdirSync(directory);
    const { clock, told, turns, watch, isTold } = world(directory, 500);
    turns[0]?.();
    await isTold('watched');
    const elsewhere = `${directory}-moved`;
    renameSync(directory, elsewhere);
    mkdirSync(directory);
    for (const name of ['one', 'two', 'three']) writeFileSync(path.join(elsewhere, name), '');
    await eventually('it rests', () => clock.pending > 0);
    assert.ok(!told.includes('marked'), told.join(', '));
    // Its watch took long, and nothing keeps the next one from taking as long.
    await clock.advance(49_999);
    assert.equal(turns.length, 1);
    await clock.advance(1);
    assert.equal(turns.length, 2);
    watch.close();
  });

  void it('that was ended before its turn is not set, and tells nothing; one of a directory that has gone says so then', async () => {
    const directory = tempDir();
    const [ended, gone] = [world(directory), world(path.join(directory, 'gone'))];
    ended.watch.close();
    ended.turns[0]?.();
    gone.turns[0]?.();
    await gone.isTold('ENOENT');
    assert.deepEqual([gone.told, ended.told], [['ENOENT'], []]);
  });

  void it('is not ended by a late failure of the one before it', async (test) => {
    const made: FSWatcher[] = [];
    const watchOf = fs.watch;
    test.mock.method(fs, 'watch', (at: string, options: fs.WatchOptions) => {
      const watcher = watchOf(at, options);
      made.push(watcher);
      return watcher;
    });
    syncBuiltinESMExports();
    test.after(() => {
      test.mock.restoreAll();
      syncBuiltinESMExports();
    });
    const directory = tempDir();
    const { clock, told, turns, watch, isTold } = world(directory);
    turns[0]?.();
    await isTold('watched');
    for (const name of ['a', 'b', 'c']) writeFileSync(path.join(directory, name), '');
    await isTold('marked');
    told.length = 0;
    await clock.advance(250);
    turns[1]?.();
    await isTold('watched');
    made[0]?.emit('error', Object.assign(new Error('late'), { code: 'EIO' }));
    made[0]?.emit('change', 'rename', 'old');
    assert.deepEqual(told, ['unmarked', 'watched']);
    watch.close();
  });
});
