import assert from 'node:assert/strict';
import {
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DirectoryWatch } from '../../../src/platform/fs/directory-watch.js';
import { listFiles } from '../../../src/platform/fs/listed-files.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import type { Marks } from '../../../src/platform/peer/directory-marks.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { tempDir } from '../../support/temp-dir.js';

const STRANGER = 4711;
const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can give a directory to another user';

describe('a watched directory', () => {
  const directory = path.join(tempDir(), 'registry');
  const paths = new SocketPaths([directory], () => false);
  const hints: string[] = [];
  /** Directories that are gone or exchanged. */
  const others: string[] = [];
  let rescans = 0;
  let losses = 0;
  // As discovery does.
  const hint = (file: string): void => {
    hints.push(file);
    const { isOther, entries } = watch.follow(file);
    if (isOther) others.push(file);
    for (const entry of entries ?? []) if (entry !== undefined) hint(entry);
  };
  const watch = new DirectoryWatch(paths, directory, {
    hint,
    rescan: () => {
      rescans += 1;
      Array.from(listFiles(paths, directory, (met) => void watch.follow(met)));
    },
    lost: () => (losses += 1),
    degraded: (why) => assert.equal(why, undefined),
  });
  before(() => watch.start());
  after(() => watch.close());

  it('that is so busy that the queue of all is full says that events were lost', async () => {
    const [busy, calm] = ['busy', 'calm'].map((name) => path.join(directory, name));
    for (const one of [busy, calm]) mkdirSync(one ?? '');
    await eventually('both are watched', () => {
      for (const one of [busy, calm]) writeFileSync(path.join(one ?? '', 'hint'), '');
      return [busy, calm].every((one) => hints.includes(path.join(one ?? '', 'hint')));
    });
    const most = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
    const files = ['1', '2'].map((name) => openSync(path.join(busy ?? '', name), 'w'));
    // Events of one file in a row are one.
    for (let count = 0; count < most; count++) for (const file of files) writeSync(file, 'x');
    writeFileSync(path.join(calm ?? '', 'lost.sock'), '');
    for (const file of files) closeSync(file);
    await eventually('it is told', () => losses > 0);
    assert.equal(hints.includes(path.join(calm ?? '', 'lost.sock')), false);
  });

  for (const round of ['once', 'twice']) {
    it(`that was removed and made again ${round} is watched as before`, async () => {
      const [seen, file] = [rescans, path.join(directory, `${round}.sock`)];
      rmSync(directory, { recursive: true });
      mkdirSync(directory, { recursive: true });
      await eventually('everything is looked at', () => rescans > seen);
      const looked = rescans;
      writeFileSync(file, '');
      // Its watch may be about to be set, and then everything is looked at.
      await eventually(`a look at ${file}`, () => hints.includes(file) || rescans > looked);
    });
  }

  it('that was exchanged before its watch is set is watched', async () => {
    watch.restart();
    rmSync(directory, { recursive: true });
    mkdirSync(directory, { recursive: true });
    let round = 0;
    await eventually('a hint about a new file', () => {
      round += 1;
      writeFileSync(path.join(directory, `new-${String(round)}.sock`), '');
      return hints.some((hint) => hint.startsWith(path.join(directory, 'new-')));
    });
  });

  it('is told of what was in a new directory before it was watched', async () => {
    const made = path.join(tempDir(), 'made');
    mkdirSync(path.join(made, 'below'), { recursive: true });
    // Like a socket, a link is no regular file.
    for (const name of ['a.sock', 'below/b.sock']) symlinkSync('/dev/null', path.join(made, name));
    renameSync(made, path.join(directory, 'moved'));
    for (const name of ['a.sock', 'below/b.sock']) {
      const file = path.join(directory, 'moved', name);
      await eventually(`a hint about ${file}`, () => hints.includes(file));
    }
  });

  it('leaves room for directories of others, however many somebody makes', async () => {
    for (let at = 0; at < 300; at++) mkdirSync(path.join(directory, 'many', String(at)), { recursive: true });
    mkdirSync(path.join(directory, 'other'));
    const file = path.join(directory, 'other', 'a.sock');
    await eventually('the other is followed', () => {
      writeFileSync(file, '');
      return hints.includes(file);
    });
    const met: string[] = [];
    Array.from(listFiles(paths, directory, (one) => void met.push(one)));
    assert.ok(met.filter((one) => one.includes('many')).length <= 256);
    assert.ok(met.includes(path.join(directory, 'other')));
  });

  it('tells of a directory that went, and of another one in its place', async () => {
    const [first, second] = ['one', 'two'].map((name) => path.join(directory, name)) as [string, string];
    mkdirSync(first);
    symlinkSync('/dev/null', path.join(first, 'old'));
    await eventually('the first is followed', () => hints.includes(path.join(first, 'old')));
    mkdirSync(path.join(directory, '.away'));
    others.length = 0;
    renameSync(first, path.join(directory, '.away', 'one'));
    mkdirSync(first);
    symlinkSync('/dev/null', path.join(first, 'new'));
    await eventually('the other one is', () => hints.includes(path.join(first, 'new')));
    assert.ok(others.includes(first));
    mkdirSync(second);
    await eventually('it is seen', () => hints.includes(second));
    rmSync(second, { recursive: true });
    await eventually('it went', () => others.includes(second));
  });

  it('tells of one that went before its watch was set', async () => {
    const brief = path.join(directory, 'brief');
    mkdirSync(brief);
    symlinkSync('/dev/null', path.join(brief, 'a.sock'));
    assert.deepEqual(Array.from(watch.follow(brief).entries ?? []), [path.join(brief, 'a.sock')]);
    rmSync(brief, { recursive: true });
    await eventually('it went', () => others.includes(brief));
  });

  it('says that it works once all directories of the start are watched', async () => {
    const [root, told, hints] = [path.join(tempDir(), 'registry'), [] as (string | undefined)[], [] as string[]];
    mkdirSync(path.join(root, 'below'), { recursive: true });
    const other = new DirectoryWatch(new SocketPaths([root], () => false), root, {
      hint: (file) => hints.push(file),
      rescan: () => undefined,
      lost: () => undefined,
      // What is told of a watch is told in the same turn.
      degraded: (why) =>
        queueMicrotask(() => told.push(hints.includes(path.join(root, 'below')) ? why : 'one is not watched yet')),
    });
    for (const begin of [() => other.start(), () => other.restart()]) {
      [told.length, hints.length] = [0, 0];
      begin();
      assert.deepEqual(told, []);
      await eventually('it is told', () => told.length > 0);
      assert.deepEqual(told, [undefined]);
    }
    other.close();
  });

  it(
    'of an ordinary user, below which a watch took long, has no further directory watched for a hundred times as long',
    { skip },
    async () => {
      const [root, clock, set] = [path.join(tempDir(), 'registry'), new FakeClock(), [] as string[]];
      const [slow, other, mine] = ['own/slow', 'own/other', 'mine'].map((name) => path.join(root, name)) as [
        string,
        string,
        string,
      ];
      mkdirSync(slow, { recursive: true });
      chownSync(path.dirname(slow), STRANGER, STRANGER);
      const marks: Marks = {
        during: async (open) => {
          const directory = open();
          if (directory === undefined) return 0;
          set.push(path.basename(readlinkSync(`/proc/self/fd/${String(directory)}`)));
          closeSync(directory);
          return set.at(-1) === 'slow' ? 300 : 1;
        },
        hold: () => () => undefined,
      };
      const nothing = (): void => undefined;
      let looks = 0;
      const events = { hint: nothing, rescan: nothing, lost: () => void (looks += 1), degraded: nothing };
      const slowly = new DirectoryWatch(new SocketPaths([root], () => false), root, events, { clock, marks });
      slowly.start();
      await eventually('all of the start are watched', () => set.length === 3);
      await clock.advance(0);
      for (const one of [other, mine]) {
        mkdirSync(one);
        slowly.follow(one);
      }
      await eventually('that below another name is watched', () => set.includes('mine'));
      assert.deepEqual(set.toSorted(), ['mine', 'own', 'registry', 'slow']);
      await clock.advance(29_999);
      assert.equal(looks, 0);
      await clock.advance(1);
      assert.equal(looks, 1, 'everything is looked at');
      slowly.follow(other);
      await eventually('it is watched', () => set.includes('other'));
      slowly.close();
    },
  );
});
