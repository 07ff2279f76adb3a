import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { boundNameCalls, statusOf, statusOfName } from '../../../src/platform/fs/name-calls.js';
import { ownUid } from '../../../src/platform/process/own-uid.js';
import { tempDir } from '../../support/temp-dir.js';

/** As a container runtime that does not know openat2 answers, and older kernels. */
const refusals = ['EPERM', 'ENOSYS', 'EINVAL'];
let asked = 0;
boundNameCalls(
  () => 0,
  { ownUid: ownUid(), userOf: (uid) => uid },
  {
    openCached: () => {
      asked += 1;
      return { error: refusals[asked % refusals.length] ?? '' };
    },
  },
);

describe('looks at names where the cache of the kernel cannot be asked', () => {
  it('are made by the thread', () => {
    const at = tempDir();
    mkdirSync(`${at}/folder`);
    writeFileSync(`${at}/file`, 'text');
    for (let looks = 0; looks < refusals.length; looks++) {
      assert.equal(statusOf(`${at}/folder`)?.isDirectory(), true);
      assert.equal(statusOfName(`${at}/file`)?.size, 4n);
      assert.equal(statusOf(`${at}/none`), undefined);
    }
    assert.equal(asked, 3 * refusals.length);
  });
});
