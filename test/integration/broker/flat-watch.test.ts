import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FlatWatch } from '../../../src/platform/fs/flat-watch.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('a flat watch', () => {
  const directory = path.join(tempDir(), 'device-plugins');
  const troubles: (string | undefined)[] = [];
  let changes = 0;
  const watch = new FlatWatch(directory, {
    changed: () => (changes += 1),
    lost: () => undefined,
    degraded: (why) => void troubles.push(why),
  });
  const changed = async (what: string, change: () => void): Promise<void> => {
    const seen = changes;
    change();
    await eventually(what, () => changes > seen);
  };
  before(async () => {
    watch.start();
    assert.deepEqual(troubles, []);
    await eventually('it is watched', () => troubles.length > 0);
  });
  after(() => watch.close());

  void it('makes the directory and tells of files that come, are replaced and go', async () => {
    const [file, other] = [path.join(directory, 'a.sock'), path.join(directory, '.a')];
    await changed('a new file', () => writeFileSync(file, ''));
    writeFileSync(other, '');
    await changed('one in its place', () => renameSync(other, file));
    await changed('none', () => rmSync(file));
    assert.deepEqual(troubles, [undefined]);
  });

  void it('says which names changed since it was asked last, and after a start that any may have', async () => {
    assert.equal(watch.changes(), undefined);
    await changed('a new file', () => writeFileSync(path.join(directory, 'b.sock'), ''));
    await eventually('its name', () => watch.changes()?.has('b.sock') === true);
    await changed('none', () => rmSync(path.join(directory, 'b.sock')));
    watch.restart();
    assert.equal(watch.changes(), undefined);
  });

  for (const round of ['once', 'twice']) {
    void it(`that was removed and made again ${round} is watched as before`, async () => {
      await changed('it is looked at', () => {
        rmSync(directory, { recursive: true });
        mkdirSync(directory, { recursive: true });
      });
      await changed('a file in the new one', () => writeFileSync(path.join(directory, `${round}.sock`), ''));
    });
  }

  void it('of a directory that cannot be made says why, and goes on when it is told to try again', async () => {
    const [file, told] = [path.join(tempDir(), 'taken'), [] as (string | undefined)[]];
    writeFileSync(file, '');
    let looked = 0;
    const other = new FlatWatch(path.join(file, 'device-plugins'), {
      changed: () => (looked += 1),
      lost: () => undefined,
      degraded: (why) => void told.push(why),
    });
    other.start();
    assert.match(told[0] ?? '', /device-plugins cannot be watched: ENOTDIR/);
    assert.equal(looked, 1);
    rmSync(file);
    other.restart();
    assert.equal(told.length, 1, 'its watch does not stand yet');
    await eventually('it is watched', () => told.length > 1);
    assert.deepEqual(told.slice(1), [undefined]);
    const seen = looked;
    writeFileSync(path.join(file, 'device-plugins', 'a.sock'), '');
    await eventually('a change is told', () => looked > seen);
    other.close();
    other.close();
    other.restart();
    assert.equal(told.length, 2, 'a closed one stays closed');
  });
});
