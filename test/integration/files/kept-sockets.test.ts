import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, describe, it, mock } from 'node:test';
import { incarnationKey } from '../../../src/model/ids.js';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { KeptSockets } from '../../../src/platform/fs/kept-sockets.js';
import { PinnedDirectory } from '../../../src/platform/fs/pinned-directory.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54321;
const PROTECTED = '/proc/sys/fs/protected_hardlinks';

/** Why the system cannot be seen to refuse a second name. */
function whyNoRule(): string | false {
  if (process.getuid?.() !== 0) return 'SKIPPED: only root can be another user';
  const isOn = existsSync(PROTECTED) && readFileSync(PROTECTED, 'utf8').trim() === '1';
  return isOn ? false : 'SKIPPED: fs.protected_hardlinks is off';
}
const noRule = whyNoRule();

describe('a socket that is removed so that its plugin registers afresh', () => {
  const servers: Server[] = [];
  const pins: PinnedSocket[] = [];
  const paths = new SocketPaths([tmpdir()], () => false);
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
    for (const pin of pins.splice(0)) pin.release();
  });

  async function listen(file: string): Promise<PinnedSocket> {
    const server = createServer();
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(file, resolve));
    const pin = pinSocket(file);
    if ('problem' in pin) throw new Error(pin.detail);
    pins.push(pin);
    return pin;
  }
  const open = (listens = true): KeptSockets => new KeptSockets({ isListening: () => listens, paths });
  const folders = (directory: string): string[] => readdirSync(directory).filter((name) => name.startsWith('.pb-'));

  it('has no name any more but one in a private folder, and gets the first one back', async () => {
    const directory = tempDir();
    const pin = await listen(path.join(directory, 'kubevirt-kvm.sock'));
    const kept = open();
    assert.equal(kept.remove(pin), undefined);
    assert.equal(existsSync(pin.path), false);
    const [folder = ''] = folders(directory);
    assert.equal(statSync(path.join(directory, folder)).mode & 0o777, 0o700);
    assert.equal(kept.putBack(incarnationKey(pin.incarnation)), true);
    assert.equal(String(statSync(pin.path, { bigint: true }).ino), pin.incarnation.ino);
    assert.deepEqual(folders(directory), [], 'nothing is left behind');
    assert.equal(kept.putBack(incarnationKey(pin.incarnation)), false, 'once');
  });

  it('stays where others could take its name that cannot remove it, and the reason says so', async () => {
    const directory = tempDir();
    chmodSync(directory, 0o1775);
    const pin = await listen(path.join(directory, 'kubevirt-kvm.sock'));
    const kept = open();
    assert.match(kept.remove(pin) ?? '', /may be written by group .* who could take its name .* restart the plugin$/);
    assert.deepEqual(readdirSync(directory), ['kubevirt-kvm.sock'], 'nothing is left behind');
    for (const mode of [0o1755, 0o775]) {
      chmodSync(directory, mode);
      assert.equal(kept.remove(pin), undefined, 'nobody may, or they could remove it anyway');
      assert.equal(kept.putBack(incarnationKey(pin.incarnation)), true);
    }
  });

  it('whose name somebody else has by now is left alone, before and after', async () => {
    const directory = tempDir();
    const kept = open();
    const old = await listen(path.join(directory, 'a.sock'));
    servers[0]?.close();
    const young = await listen(path.join(directory, 'a.sock'));
    assert.match(kept.remove(old) ?? '', /another socket/);
    assert.equal(existsSync(young.path), true);
    assert.equal(kept.remove(young), undefined);
    writeFileSync(young.path, '');
    assert.equal(kept.putBack(incarnationKey(young.incarnation)), false);
    assert.equal(statSync(young.path).isFile(), true);
    assert.deepEqual(folders(directory), []);
  });

  it('on which nobody listens any more does not get its name back', async () => {
    const directory = tempDir();
    const pin = await listen(path.join(directory, 'a.sock'));
    const kept = open(false);
    kept.remove(pin);
    assert.equal(kept.putBack(incarnationKey(pin.incarnation)), false);
    assert.deepEqual(readdirSync(directory), []);
  });

  it('whose kept name cannot be removed, as on a disk that turned read-only, ends nothing', async () => {
    const directory = tempDir();
    for (const [name, end] of [
      ['discarded', 'discard'],
      ['put-back', 'putBack'],
    ] as const) {
      const pin = await listen(path.join(directory, `${name}.sock`));
      const kept = open();
      assert.equal(kept.remove(pin), undefined);
      const [folder = ''] = folders(directory);
      const inside = path.join(directory, folder, `${pin.incarnation.ino}-${name}.sock`);
      rmSync(inside);
      mkdirSync(inside);
      kept[end](incarnationKey(pin.incarnation));
      assert.deepEqual(folders(directory), [folder], 'it is left to the next start');
      rmSync(path.join(directory, folder), { recursive: true });
    }
  });

  it('is kept where its name cannot be given back, for the next attempt or the next broker', async () => {
    const directory = tempDir();
    const pin = await listen(path.join(directory, 'a.sock'));
    const key = incarnationKey(pin.incarnation);
    const first = open();
    assert.equal(first.remove(pin), undefined);
    const outcome = mock.method(PinnedDirectory.prototype, 'putBack', () => 'failed');
    assert.equal(first.putBack(key), false);
    first.close();
    const second = open();
    await second.adopt(directory, { isAwaited: () => false });
    assert.deepEqual([existsSync(pin.path), folders(directory).length], [false, 1]);
    outcome.mock.restore();
    assert.equal(second.putBack(key), true);
    assert.deepEqual(readdirSync(directory), ['a.sock']);
  });

  it('by a broker that was killed is known to the next one; one that nobody knows gets its name back', async () => {
    const directory = tempDir();
    const known = await listen(path.join(directory, 'known-1.sock'));
    const unknown = await listen(path.join(directory, 'unknown.sock'));
    const first = open();
    assert.deepEqual([first.remove(known), first.remove(unknown)], [undefined, undefined]);
    first.close();
    const second = open();
    await second.adopt(directory, { isAwaited: (key) => key === incarnationKey(known.incarnation) });
    assert.deepEqual([existsSync(known.path), existsSync(unknown.path)], [false, true]);
    assert.equal(second.putBack(incarnationKey(known.incarnation)), true);
    assert.equal(existsSync(known.path), true);
    assert.deepEqual(folders(directory), []);
  });

  it('and was kept in a directory below, beside a plugin of the checkpoint, is found there', async () => {
    const directory = tempDir();
    const below = path.join(directory, 'below');
    mkdirSync(below);
    const pin = await listen(path.join(below, 'a.sock'));
    const first = open();
    assert.equal(first.remove(pin), undefined);
    first.close();
    const instances = [
      { door: 'register', endpointPath: pin.path },
      { door: 'register', endpointPath: path.join(directory, 'gone', 'b.sock') },
      { door: 'register', endpointPath: '/elsewhere/c.sock' },
      { door: 'watcher', endpointPath: path.join(directory, 'd.sock') },
    ] as const;
    assert.equal(await open().adopt(directory, { isAwaited: () => false }, instances), undefined);
    assert.deepEqual(readdirSync(below), ['a.sock']);
  });

  it('and was kept by a broker that was killed is found beside things that no broker left', async () => {
    const directory = tempDir();
    const pins = await Promise.all(['a.sock', 'b.sock', 'c.sock'].map((name) => listen(path.join(directory, name))));
    const first = open();
    for (const pin of pins) assert.equal(first.remove(pin), undefined);
    const [folder = ''] = folders(directory);
    const inside = path.join(directory, folder);
    mkdirSync(path.join(inside, '1-directory'));
    writeFileSync(path.join(inside, '2-file'), '');
    linkSync(path.join(inside, `${pins[0]?.incarnation.ino ?? ''}-a.sock`), path.join(inside, '3-other.sock'));
    first.close();
    assert.equal(await open().adopt(directory, { isAwaited: () => false }), undefined);
    assert.deepEqual(readdirSync(directory), [folder, 'a.sock', 'b.sock', 'c.sock']);
    assert.deepEqual(readdirSync(inside).sort(), ['.pb-kept', '1-directory', '2-file', '3-other.sock']);
  });

  it('as 0.1 did it left a name behind, which is removed at the next start', async () => {
    const directory = tempDir();
    await listen(path.join(directory, '.pb-aside-4711'));
    writeFileSync(path.join(directory, '.pb-aside-17'), 'no socket');
    await open().adopt(directory, { isAwaited: () => false });
    assert.deepEqual(readdirSync(directory), ['.pb-aside-17']);
  });

  it('is not removed where the system makes no second name for it', { skip: noRule }, async () => {
    const directory = tempDir();
    chownSync(directory, OTHER_UID, OTHER_UID);
    const pin = await listen(path.join(directory, 'a.sock'));
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-recycler.js');
    const other = spawnSync(process.execPath, [file, String(OTHER_UID), pin.path]);
    assert.equal(other.stdout.toString(), 'no second name can be made for it (see fs.protected_hardlinks)');
    assert.deepEqual(readdirSync(directory), ['a.sock']);
    assert.equal(open().remove(pin), undefined, "root's broker makes one");
  });

  it('is not removed where no private folder can be made', async () => {
    const directory = tempDir();
    const pin = await listen(path.join(directory, 'a.sock'));
    const gone = { ...pin, path: path.join(directory, 'nowhere', 'a.sock') };
    assert.match(open().remove(gone) ?? '', /no private folder/);
  });
});
