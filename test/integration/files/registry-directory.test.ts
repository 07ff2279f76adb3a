import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { registryDirectory } from '../../../src/platform/fs/registry-directory.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the registry directory', () => {
  it('names one owner for all uids of a user', () => {
    const directory = tempDir();
    const own = process.getuid?.() ?? 0;
    const port = registryDirectory({
      directory,
      paths: new SocketPaths([directory], () => false),
      expected: () => [],
      follow: () => ({ isOther: false }),
      refusal: () => ({ code: 'BUSY', message: '' }),
      userOf: (uid) => (uid === own ? 4001 : uid),
    });
    const file = path.join(directory, 'a.sock');
    writeFileSync(file, '');
    assert.equal(port.ownerOf(file), 4001);
    assert.equal(port.ownerOf(path.join(directory, 'nowhere', 'a.sock')), -1);
  });
});
