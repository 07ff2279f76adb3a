import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { listFiles } from '../../../src/platform/fs/directory-watch.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the files of a registry directory', () => {
  it('are listed without hidden names, and without what is in hidden directories, at a start and at each rescan', () => {
    const root = tempDir();
    for (const folder of ['.dir', 'dir']) mkdirSync(path.join(root, folder));
    for (const file of ['a.sock', '.b.sock', '.dir/c.sock', 'dir/d.sock', 'dir/.e.sock'])
      symlinkSync('nowhere', path.join(root, file));
    const paths = new SocketPaths([root], () => false);
    const listed = Array.from(listFiles(paths, root)).filter((file) => file !== undefined);
    assert.deepEqual(listed.sort(), [path.join(root, 'a.sock'), path.join(root, 'dir/d.sock')]);
  });
});
