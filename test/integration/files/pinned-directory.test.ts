import assert from 'node:assert/strict';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { after, describe, it } from 'node:test';
import { inDirectory, PinnedDirectory, withPath } from '../../../src/platform/fs/pinned-directory.js';
import { leftFolder, makePrivate } from '../../../src/platform/fs/private-folder.js';
import { tempDir } from '../../support/temp-dir.js';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

function socketAt(path: string): Promise<void> {
  const server = createServer();
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

describe('a pinned directory', () => {
  it('goes on in the directory it was opened at when the path leads elsewhere', async () => {
    const root = tempDir();
    mkdirSync(`${root}/plugins`);
    mkdirSync(`${root}/elsewhere`);
    await socketAt(`${root}/plugins/a.sock`);
    writeFileSync(`${root}/elsewhere/a.sock`, 'precious');
    inDirectory(`${root}/plugins`, (pinned) => {
      const incarnation = pinned.incarnation('a.sock');
      assert.ok(incarnation);
      renameSync(`${root}/plugins`, `${root}/moved`);
      symlinkSync(`${root}/elsewhere`, `${root}/plugins`);
      assert.equal(pinned.isAt(`${root}/plugins`), false);
      assert.equal(pinned.unlinkIf('a.sock', incarnation), true);
    });
    assert.deepEqual(readdirSync(`${root}/moved`), []);
    assert.deepEqual(readdirSync(`${root}/elsewhere`), ['a.sock']);
  });

  it('gives a socket to another directory, under a name that nothing has there', async () => {
    const root = tempDir();
    mkdirSync(`${root}/private`);
    mkdirSync(`${root}/public`);
    await socketAt(`${root}/private/bound`);
    writeFileSync(`${root}/public/taken`, '');
    inDirectory(`${root}/private`, (from) =>
      inDirectory(`${root}/public`, (to) => {
        const incarnation = from.incarnation('bound');
        assert.ok(incarnation);
        assert.throws(() => from.move('bound', to, 'taken'), { code: 'EEXIST' });
        assert.equal(from.has('bound', incarnation), true);
        from.move('bound', to, 'free');
        assert.equal(to.has('free', incarnation), true);
      }),
    );
    assert.deepEqual(readdirSync(`${root}/private`), []);
  });

  it('is not opened through a link at the end of its path, unless the configuration names it', () => {
    const root = tempDir();
    mkdirSync(`${root}/real`);
    symlinkSync(`${root}/real`, `${root}/link`);
    assert.throws(() => PinnedDirectory.open(`${root}/link`), { code: 'ENOTDIR' });
    const pinned = PinnedDirectory.openConfigured(`${root}/link`);
    assert.equal(pinned.isAt(`${root}/real`), true);
    pinned.close();
  });

  it('takes names only, no paths', () => {
    inDirectory(tempDir(), (pinned) => {
      for (const name of ['', '.', '..', '../a', 'a/b', 'a\0b']) assert.throws(() => pinned.at(name), RangeError);
    });
  });

  it('removes a socket only while it is the incarnation that was meant', async () => {
    const root = tempDir();
    await socketAt(`${root}/a.sock`);
    await socketAt(`${root}/b.sock`);
    inDirectory(root, (pinned) => {
      const first = pinned.incarnation('a.sock');
      assert.ok(first);
      renameSync(`${root}/b.sock`, `${root}/a.sock`);
      assert.equal(pinned.unlinkIf('a.sock', first), false);
      assert.equal(existsSync(`${root}/a.sock`), true);
    });
  });

  it('does not take a link to a socket for the socket', async () => {
    const root = tempDir();
    await socketAt(`${root}/a.sock`);
    symlinkSync(`${root}/a.sock`, `${root}/link.sock`);
    inDirectory(root, (pinned) => {
      const incarnation = pinned.incarnation('a.sock');
      assert.ok(incarnation);
      assert.equal(pinned.unlinkIf('link.sock', incarnation), false);
      assert.equal(lstatSync(`${root}/link.sock`).isSymbolicLink(), true);
    });
  });

  it('keeps a socket by a second name and puts it back where the name is free', async () => {
    const root = tempDir();
    await socketAt(`${root}/a.sock`);
    inDirectory(root, (pinned) => {
      const incarnation = pinned.incarnation('a.sock');
      assert.ok(incarnation);
      const folder = makePrivate(pinned, 'kept');
      assert.equal(lstatSync(`${root}/${folder.name}`).mode & 0o777, 0o700);
      assert.equal(pinned.linkInto('a.sock', incarnation, folder.inside, 'kept'), true);
      assert.equal(pinned.unlinkIf('a.sock', incarnation), true);

      writeFileSync(`${root}/a.sock`, 'somebody came meanwhile');
      assert.equal(pinned.putBack(folder.inside, 'kept', 'a.sock'), 'taken');
      assert.equal(pinned.putBack(folder.inside, 'none', 'b.sock'), 'failed');
      assert.equal(lstatSync(`${root}/a.sock`).isFile(), true);

      pinned.unlink('a.sock');
      assert.equal(pinned.putBack(folder.inside, 'kept', 'a.sock'), 'back');
      assert.equal(lstatSync(`${root}/a.sock`, { bigint: true }).ino, BigInt(incarnation.ino));
      folder.remove();
    });
    assert.deepEqual(readdirSync(root), ['a.sock']);
  });

  it('finds its own private folders again and nothing else of such a name', () => {
    const root = tempDir();
    mkdirSync(`${root}/.pb-kept-aaaaaa`, 0o755);
    writeFileSync(`${root}/.pb-kept-bbbbbb`, '');
    symlinkSync('/nowhere', `${root}/.pb-kept-cccccc`);
    mkdirSync(`${root}/.pb-listen-dddddd`, 0o700);
    for (const [name, inside] of [
      ['.pb-kept-eeeeee', '1-a.sock'],
      ['.pb-kept-ffffff', '.pb-listen'],
    ] as const) {
      mkdirSync(`${root}/${name}`, 0o700);
      writeFileSync(`${root}/${name}/${inside}`, '');
    }
    inDirectory(root, (pinned) => {
      const made = makePrivate(pinned, 'kept');
      made.close();
      const entries = Array.from(pinned.entries());
      const found = entries.flatMap((entry) => leftFolder(pinned, entry, 'kept') ?? []);
      assert.deepEqual(
        found.map(({ name }) => name),
        [made.name],
      );
      for (const folder of found) folder.remove();
    });
    assert.deepEqual(readdirSync(root).sort(), [
      '.pb-kept-aaaaaa',
      '.pb-kept-bbbbbb',
      '.pb-kept-cccccc',
      '.pb-kept-eeeeee',
      '.pb-kept-ffffff',
      '.pb-listen-dddddd',
    ]);
  });

  it('removes no folder that has something in it', () => {
    const root = tempDir();
    mkdirSync(`${root}/full`);
    writeFileSync(`${root}/full/a`, '');
    linkSync(`${root}/full/a`, `${root}/b`);
    inDirectory(root, (pinned) => pinned.removeEmpty('full'));
    assert.deepEqual(readdirSync(root).sort(), ['b', 'full']);
  });

  it('is named in messages as people know it, whatever characters it has', () => {
    assert.equal(withPath("EACCES: '/proc/self/fd/12/s'", '/r/$&$`'), "EACCES: '/r/$&$`/s'");
  });
});
