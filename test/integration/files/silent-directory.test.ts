import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdirSync, openSync, readdirSync, rmdirSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { after, describe, it } from 'node:test';
import { entriesOf, probe } from '../../../src/cli/doctor/probe.js';
import { namesIn, statusOfLink } from '../../../src/cli/doctor/looks.js';
import { boundNameCalls, isNameCallLate, openSync as openName } from '../../../src/platform/fs/name-calls.js';
import { PinnedDirectory } from '../../../src/platform/fs/pinned-directory.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { incarnationAt, keyAt } from '../../../src/platform/fs/socket-pin.js';
import { SocketPlace } from '../../../src/platform/fs/socket-place.js';
import { identityOf } from '../../../src/platform/fs/watched-root.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { ownUid } from '../../../src/platform/process/own-uid.js';
import { eventually } from '../../support/eventually.js';
import { kubeletSockets } from '../../support/kubelet-sockets.js';
import { tempDir } from '../../support/temp-dir.js';

/** What the cache of the kernel says: as it is, or that it would have to look. */
const cache = { isMissed: (): boolean => true };
let asked = 0;
/** Milliseconds: a minute has gone whenever a directory answers again, so that nothing is left of what it has kept us waiting. */
const time = { now: 0 };
const libc = loadLibc();
boundNameCalls(
  () => time.now,
  { ownUid: ownUid(), userOf: (uid) => uid },
  {
    openCached: (...question) => {
      asked += 1;
      return (cache.isMissed() ? undefined : libc?.openCached(...question)) ?? { error: 'EAGAIN' };
    },
  },
);

const servers: Server[] = [];
after(() => servers.forEach((server) => server.close()));

function listener(at: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  servers.push(server);
  return new Promise((resolve) => server.listen(at, () => resolve(server)));
}

/** Calls in a directory hang, by its path and by a descriptor, as where somebody holds its lock. @returns ends that */
function silence(directory: string): () => Promise<void> {
  const fifo = `${directory}/fifo`;
  if (!existsSync(fifo)) execFileSync('mkfifo', [fifo]);
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  for (const at of [fifo, `/proc/self/fd/${String(fd)}/fifo`])
    assert.throws(() => openName(at, constants.O_RDONLY | constants.O_CREAT, 0o600), { code: 'ETIMEDOUT' });
  let isHeld = true;
  return async () => {
    if (!isHeld) return;
    isHeld = false;
    closeSync(fd);
    closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
    await eventually('the calls have returned', () => !isNameCallLate());
    time.now += 60_000;
  };
}

describe('a directory that does not answer', () => {
  it('has the sockets that it had: nobody is told that they have gone', async (t) => {
    const root = tempDir();
    const directory = `${root}/door`;
    mkdirSync(directory);
    await listener(`${directory}/a.sock`);
    const pinned = PinnedDirectory.open(directory);
    const paths = new SocketPaths([directory], (uid) => uid === ownUid());
    const place = SocketPlace.open(`${directory}/own.sock`);
    await listener(place.bindPath);
    place.publish();
    const [key, incarnation, identity] = [
      keyAt(`${directory}/a.sock`),
      incarnationAt(`${directory}/a.sock`),
      identityOf(directory),
    ];
    assert.ok(key !== undefined && incarnation !== undefined && identity !== '');
    const speaks = silence(directory);
    t.after(speaks);
    assert.equal(paths.keyAt(`${directory}/a.sock`, key), key);
    assert.equal(paths.keyAt(`${directory}/a.sock`), undefined, 'nothing was known');
    assert.equal(paths.ownerOf(`${directory}/a.sock`, 4001), 4001);
    assert.equal(keyAt(`${directory}/a.sock`, key), key);
    assert.deepEqual(incarnationAt(`${directory}/a.sock`, incarnation), incarnation);
    assert.deepEqual(pinned.incarnation('a.sock', incarnation), incarnation);
    assert.equal(pinned.has('a.sock', incarnation), false, 'nothing is removed by what was known');
    assert.equal(place.isInPlace(), true);
    assert.equal(place.remove(), false);
    await speaks();
    const above = silence(root);
    t.after(above);
    assert.equal(identityOf(directory, identity), identity);
    assert.equal(pinned.isAt(directory), true);
    await above();
    assert.equal(place.isInPlace(), true);
    pinned.unlink('own.sock');
    assert.equal(place.isInPlace(), false);
    pinned.unlink('a.sock');
    assert.equal(paths.keyAt(`${directory}/a.sock`, key), undefined);
    place.close();
    pinned.close();
  });

  it('leaves the roots of sockets where they were: no plugin is told that its socket lies outside of them', async (t) => {
    const root = tempDir();
    const [directory, link, other] = [`${root}/door`, `${root}/link`, `${root}/other`];
    mkdirSync(directory);
    symlinkSync('door', link);
    const paths = new SocketPaths([directory, link], (uid) => uid === ownUid());
    assert.deepEqual([directory, link, other].map(paths.realRoot), [directory, directory, undefined]);
    const above = silence(root);
    t.after(above);
    assert.deepEqual([directory, link, other].map(paths.realRoot), [directory, directory, undefined]);
    await above();
    rmdirSync(directory);
    assert.equal(paths.realRoot(directory), undefined);
    const again = silence(root);
    t.after(again);
    assert.equal(paths.realRoot(directory), undefined, 'there was none');
    await again();
  });

  it("keeps nobody waiting where it is a kubelet's: the sockets of a resource are made when it answers", async (t) => {
    const kubelet = tempDir();
    mkdirSync(`${kubelet}/device-plugins`);
    const place = kubeletSockets('example.com/gpu', kubelet);
    const speaks = silence(kubelet);
    t.after(speaks);
    await assert.rejects(place.ensure(), { code: 'ETIMEDOUT' });
    assert.match(place.enter() ?? '', /^no entry can be made in .*: ETIMEDOUT/);
    assert.deepEqual(readdirSync(kubelet).sort(), ['device-plugins', 'fifo'], 'nothing was made past the deadline');
    await speaks();
    await place.ensure();
    assert.equal(place.enter(), undefined);
    const again = silence(`${kubelet}/plugins_registry`);
    t.after(again);
    assert.match(place.enter() ?? '', /^no entry can be made in .*: ETIMEDOUT/, 'its own is not taken for another one');
    await again();
    assert.equal(place.enter(), undefined);
    place.close(true);
  });

  it('is named by doctor, which looks at all others', async (t) => {
    const registry = tempDir();
    for (const name of ['a', 'held', 'z']) mkdirSync(`${registry}/${name}`);
    await listener(`${registry}/z/z.sock`);
    const speaks = silence(`${registry}/held`);
    t.after(speaks);
    const silent: string[] = [];
    const files = entriesOf(registry, true, silent).map(({ file }) => file.slice(registry.length + 1));
    assert.deepEqual([files.sort(), silent], [['a', 'held', 'z', 'z/z.sock'], [`${registry}/held`]]);
    assert.deepEqual(namesIn(`${registry}/held`), []);
    assert.equal(statusOfLink(`${registry}/held/none`), 'unanswered');
    assert.equal(await probe(`${registry}/held/none`), 'unanswered');
    await speaks();
    assert.deepEqual(namesIn(`${registry}/held`), ['fifo']);
  });

  it('is asked by the cache of the kernel again where that missed for a moment', { skip: libc === undefined }, () => {
    const root = tempDir();
    mkdirSync(`${root}/one`);
    let misses = 3;
    cache.isMissed = () => (misses -= 1) >= 0;
    asked = 0;
    const fd = openName(`${root}/one`, constants.O_RDONLY | constants.O_DIRECTORY);
    closeSync(fd);
    cache.isMissed = () => true;
    assert.equal(asked, 4);
  });
});
