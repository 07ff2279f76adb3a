import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Users } from '../../../src/platform/peer/users.js';
import { tempDir } from '../../support/temp-dir.js';

const OWN = 990;
const PASSWD = 'root:x:0:0::/root:/bin/sh\nann:x:4001:4001::/:/bin/sh\nbroker:x:990:990::/:/bin/sh\n';

function files(subuid?: string, passwd?: string) {
  const directory = tempDir();
  const of = { subuid: path.join(directory, 'subuid'), passwd: path.join(directory, 'passwd') };
  if (subuid !== undefined) writeFileSync(of.subuid, subuid);
  if (passwd !== undefined) writeFileSync(of.passwd, passwd);
  return of;
}

describe('the uids of one user', () => {
  it('is everybody alone where there are no ranges', () => {
    for (const of of [files(), files(''), files('# nothing\n\n', PASSWD)]) {
      const users = new Users(OWN, of);
      assert.deepEqual([0, OWN, 4001, 100_000].map(users.of), [0, OWN, 4001, 100_000]);
    }
  });

  it('is the owner of a range, by name or by uid, in all its ranges and outside of none', () => {
    const users = new Users(OWN, files('ann:100000:65536\n4002:165536:65536\nann:400000:10\n', PASSWD));
    assert.deepEqual([4001, 100_000, 165_535, 400_009].map(users.of), [4001, 4001, 4001, 4001]);
    assert.deepEqual([165_536, 231_071].map(users.of), [4002, 4002]);
    assert.deepEqual([99_999, 231_072, 399_999, 400_010].map(users.of), [99_999, 231_072, 399_999, 400_010]);
  });

  it('is a range itself where its owner is trusted, or nobody whom /etc/passwd has', () => {
    const users = new Users(OWN, files('root:100000:65536\nbroker:200000:10\nsss:300000:10\nsss:310000:10\n', PASSWD));
    assert.deepEqual([100_000, 100_001, 165_535].map(users.of), [100_000, 100_000, 100_000]);
    assert.deepEqual([200_009, 300_009, 310_009].map(users.of), [200_000, 300_000, 300_000]);
    assert.deepEqual([0, OWN].map(users.of), [0, OWN]);
  });

  it('is never root or the broker by a range, and they are nobody else by one', () => {
    const users = new Users(OWN, files('root:0:65536\nann:980:20\n', PASSWD));
    assert.deepEqual([0, OWN].map(users.of), [0, OWN]);
    for (const uid of [1, 985, 995, 4001, 65_535]) assert.ok(![0, OWN].includes(users.of(uid)), String(uid));
  });

  it('leaves out lines that are no ranges, and of two that overlap the first has what both have', () => {
    const odd = 'ann\nann:1:\nann:x:5\n:1:5\nann:-1:5\nann:1:0\nann:4294967295:2\nann:99999999999:1\n\0\n';
    const users = new Users(OWN, files(`${odd}4002:100000:100\nann:100050:100\n4003:100010:10\n`, PASSWD));
    assert.deepEqual([1, 4, 4_294_967_295].map(users.of), [1, 4, 4_294_967_295]);
    assert.deepEqual(
      [100_000, 100_015, 100_099, 100_100, 100_149, 100_150].map(users.of),
      [4002, 4002, 4002, 4001, 4001, 100_150],
    );
  });

  it('is looked up again when a file has changed, and takes no file that is none', () => {
    const of = files('ann:100000:65536\n');
    const users = new Users(OWN, of);
    assert.equal(users.of(100_001), 100_000, 'nobody knows the name');
    writeFileSync(of.passwd, PASSWD);
    users.look();
    assert.equal(users.of(100_001), 4001);
    writeFileSync(of.subuid, '4002:100000:65536\n');
    users.look();
    assert.equal(users.of(100_001), 4002);
    rmSync(of.subuid);
    mkdirSync(of.subuid);
    users.look();
    assert.equal(users.of(100_001), 100_001);
  });

  it('is soon known among many ranges, and of a file without end only so much is read', () => {
    const lines = Array.from(
      { length: 10_000 },
      (_, nth) => `${String(5_000 + nth)}:${String((nth + 2) * 65_536)}:65536`,
    );
    const endless = `${lines.join('\n')}\n# ${'x'.repeat(1024 * 1024)}\n4001:20000:10\n`;
    const users = new Users(OWN, files(endless));
    assert.equal(users.of(9_999 * 65_536 + 7), 14_997);
    assert.equal(users.of(20_001), 20_001);
  });
});
