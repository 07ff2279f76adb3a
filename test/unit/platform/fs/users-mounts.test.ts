import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mountOfLine } from '../../../../src/platform/fs/users-mounts.js';

describe('a line of mountinfo', () => {
  const server = (behindTheDash: string): number | undefined =>
    mountOfLine(`36 35 98:0 / /mnt/a rw,noatime shared:1 master:2 - ${behindTheDash}`)?.server;

  it('says which mount is where', () => {
    assert.deepEqual(mountOfLine('36 35 98:0 / /mnt/a\\040b rw - ext4 /dev/root rw,errors=continue'), {
      point: '/mnt/a b',
      server: undefined,
    });
    for (const line of ['', 'x', '36 35 98:0 / /mnt/a rw']) assert.equal(mountOfLine(line), undefined);
  });

  it('says whose process answers for a file system, whatever its source is called', () => {
    const ofUser = 'rw,user_id=4001,group_id=0,allow_other';
    for (const type of ['fuse', 'fuseblk', 'fuse.user_id=0'])
      for (const source of ['evil', 'user_id=0', 'x,user_id=0', '-', ''])
        assert.equal(server(`${type} ${source} ${ofUser}`), 4001, `${type} ${source}`);
    assert.deepEqual(['fuse x rw,user_id=0', 'fuse user_id=0 rw', 'ext4 user_id=4001 rw'].map(server), [
      0,
      -1,
      undefined,
    ]);
  });
});
