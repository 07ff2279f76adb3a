import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chownSync, lchownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { after, describe, it, mock } from 'node:test';
import { PinnedDirectory } from '../../../src/platform/fs/pinned-directory.js';
import { SocketPlace } from '../../../src/platform/fs/socket-place.js';
import { tempDir } from '../../support/temp-dir.js';

type Move = Parameters<PinnedDirectory['move']>;
const OTHER_UID = 54321;
const servers: Server[] = [];
after(() => servers.forEach((server) => server.close()));

/** A listener at a path, and how many connected to it. */
function listener(path: string): Promise<{ readonly calls: number }> {
  const heard = { calls: 0 };
  const server = createServer((socket) => {
    heard.calls += 1;
    socket.destroy();
  });
  servers.push(server);
  return new Promise((resolve) => server.listen(path, () => resolve(heard)));
}

function dialled(path: string): Promise<void> {
  return new Promise((resolve, reject) =>
    connect(path)
      .once('close', () => resolve())
      .once('error', reject)
      .resume(),
  );
}

describe('the name of a socket that is to be made', () => {
  it('is asked about the socket that was looked at, whatever has the name by then', async () => {
    const root = tempDir();
    mkdirSync(`${root}/doors`);
    const [here, elsewhere] = [await listener(`${root}/doors/door.sock`), await listener(`${root}/elsewhere.sock`)];
    const place = SocketPlace.open(`${root}/doors/door.sock`);
    const pinned = place.pinTrusted();
    assert.ok(pinned);
    renameSync(`${root}/doors/door.sock`, `${root}/doors/aside.sock`);
    symlinkSync(`${root}/elsewhere.sock`, `${root}/doors/door.sock`);
    await dialled(pinned.dialPath);
    assert.deepEqual([here.calls, elsewhere.calls], [1, 0]);
    pinned.release();
    // A link of our user is followed.
    const followed = place.pinTrusted();
    assert.ok(followed);
    await dialled(followed.dialPath);
    assert.equal(elsewhere.calls, 1);
    followed.release();
    place.close();
  });

  it('is not ours where another listener takes it in the moment after it was given, and is made again', async () => {
    const root = tempDir();
    const theirs = `${root}/.theirs`;
    await listener(theirs);
    const place = SocketPlace.open(`${root}/door.sock`);
    servers.push(createServer().listen(place.bindPath));
    await once(servers.at(-1) as Server, 'listening');
    const moves = mock.method(PinnedDirectory.prototype, 'move', function (this: PinnedDirectory, ...how: Move) {
      moves.mock.restore();
      this.move(...how);
      renameSync(theirs, `${root}/door.sock`);
    });
    place.publish();
    assert.equal(place.isInPlace(), false);
    assert.equal(place.wasMoved(), false);
    assert.equal(place.remove(), false, 'their socket stays');
    place.close();
  });

  it('is nobody’s that has to be asked where it is no socket, or is not there', () => {
    const root = tempDir();
    const place = SocketPlace.open(`${root}/door.sock`);
    assert.equal(place.pinTrusted(), undefined);
    writeFileSync(`${root}/door.sock`, '');
    assert.equal(place.pinTrusted(), undefined);
    place.close();
  });

  it('leads nobody through the link of another user', { skip: process.getuid?.() !== 0 }, async () => {
    const root = tempDir();
    mkdirSync(`${root}/doors`);
    await listener(`${root}/elsewhere.sock`);
    chownSync(`${root}/doors`, OTHER_UID, OTHER_UID);
    const place = SocketPlace.open(`${root}/doors/door.sock`);
    symlinkSync(`${root}/elsewhere.sock`, `${root}/doors/door.sock`);
    lchownSync(`${root}/doors/door.sock`, OTHER_UID, OTHER_UID);
    assert.equal(place.pinTrusted(), undefined);
    place.close();
  });
});
