import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MountTable, mountOfLine } from '../../../../src/platform/fs/users-mounts.js';

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

describe('the mounts', () => {
  const lineOf = (id: number): string =>
    `${String(id)} 35 0:${String(id)} / /m${String(id)} rw - fuse x rw,user_id=${String(id)}`;

  it('are read once for all looks of the code that runs now, and anew after it', async () => {
    let text = [lineOf(36), lineOf(37), ''].join('\n');
    let reads = 0;
    const mounts = new MountTable(() => {
      reads += 1;
      return text;
    });
    for (let look = 0; look < 1000; look++) assert.equal(mounts.of(36)?.server, 36);
    assert.deepEqual([mounts.of(37)?.point, mounts.of(3)], ['/m37', undefined]);
    assert.equal(reads, 1);
    text = lineOf(40);
    await Promise.resolve();
    assert.deepEqual([mounts.of(36), mounts.of(40)?.server, reads], [undefined, 40, 2]);
  });

  it('that cannot be read are read at the next look', () => {
    let fails = true;
    const mounts = new MountTable(() => {
      if (fails) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
      return lineOf(36);
    });
    assert.throws(() => mounts.of(36), /EMFILE/);
    fails = false;
    assert.equal(mounts.of(36)?.server, 36);
  });
});
