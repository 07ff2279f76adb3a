import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { unmappedUid } from '../../../src/platform/peer/unmapped.js';
import { tempDir } from '../../support/temp-dir.js';

function proc(map: string | undefined, overflow: string | undefined): string {
  const root = tempDir();
  mkdirSync(path.join(root, 'self'));
  mkdirSync(path.join(root, 'sys/kernel'), { recursive: true });
  if (map !== undefined) writeFileSync(path.join(root, 'self/uid_map'), map);
  if (overflow !== undefined) writeFileSync(path.join(root, 'sys/kernel/overflowuid'), overflow);
  return root;
}

describe('the uid of users that a user namespace does not know', () => {
  it('is that of the kernel where not all are mapped', () => {
    assert.equal(unmappedUid(proc('         0       1000          1\n', '65534\n')), 65534);
    assert.equal(unmappedUid(proc('0 1000 1\n1 100000 65536\n', '65533\n')), 65533);
  });

  it('is none where all are, or the system does not tell', () => {
    assert.equal(unmappedUid(proc('         0          0 4294967295\n', '65534\n')), undefined);
    assert.equal(unmappedUid(proc('0 0 1000\n1000 1000 4294966295\n', '65534\n')), undefined);
    assert.equal(unmappedUid(proc(undefined, '65534\n')), undefined);
    assert.equal(unmappedUid(proc('0 1000 1\n', undefined)), undefined);
  });
});
