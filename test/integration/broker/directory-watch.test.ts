import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DirectoryWatch } from '../../../src/platform/fs/directory-watch.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('a watched directory', () => {
  const directory = path.join(tempDir(), 'registry');
  const hints: string[] = [];
  let rescans = 0;
  const watch = new DirectoryWatch(directory, {
    hint: (file) => void hints.push(file),
    rescan: () => {
      rescans += 1;
    },
    degraded: (why) => assert.equal(why, undefined),
  });
  before(() => watch.start());
  after(() => watch.close());

  for (const round of ['once', 'twice']) {
    it(`that was removed and made again ${round} is watched as before`, async () => {
      const [seen, file] = [rescans, path.join(directory, `${round}.sock`)];
      rmSync(directory, { recursive: true });
      mkdirSync(directory, { recursive: true });
      await eventually('everything is looked at', () => rescans > seen);
      writeFileSync(file, '');
      await eventually(`a hint about ${file}`, () => hints.includes(file));
    });
  }

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
});
