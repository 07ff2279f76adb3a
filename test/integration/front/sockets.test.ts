import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { FRONT_MARK, kubeletPaths, namesOf } from '../../../src/platform/kubelet/front-paths.js';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { eventually } from '../../support/eventually.js';
import { kubeletSockets, openSockets } from '../../support/kubelet-sockets.js';
import { tempDir } from '../../support/temp-dir.js';

/** Names of sockets in our folder, seen or not. */
const sockets = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name !== FRONT_MARK)
    .sort();

describe('the sockets before a kubelet', () => {
  it('keep no descriptor of a try that failed, and are made when nothing is in the way any more', async () => {
    const kubelet = tempDir();
    const paths = kubeletPaths(kubelet);
    const resource = 'example.com/gpu';
    const place = kubeletSockets(resource, kubelet);
    await place.ensure();
    place.close(false);
    const folder = path.join(paths.devicePlugins, 'plugin-broker');
    const file = path.join(folder, namesOf(resource).socket);
    const other = kubeletSockets('example.com/other', kubelet);
    const inTheWay = path.join(folder, namesOf('example.com/other').socket);
    mkdirSync(inTheWay);
    chmodSync(inTheWay, 0o700);
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    for (let nth = 0; nth < 20; nth += 1) await assert.rejects(other.ensure());
    await eventually('no descriptor more', () => descriptors() < before + 5);
    rmdirSync(inTheWay);
    await other.ensure();
    assert.deepEqual(sockets(folder), [path.basename(file), path.basename(inTheWay)].sort());
    other.close(true);
    assert.deepEqual(sockets(folder), [path.basename(file)], 'that of a resource that is forgotten goes');
  });

  it('leave nothing where the resource is let go of while they are made, at whatever moment, nor take a later one', async () => {
    const kubelet = tempDir();
    const { devicePlugins, plugins } = kubeletPaths(kubelet);
    const resource = 'example.com/gpu';
    const folders = [devicePlugins, plugins].map((parent) => path.join(parent, 'plugin-broker'));
    const left = (): string[][] => folders.map(sockets);
    const first = kubeletSockets(resource, kubelet);
    await first.ensure();
    first.close(true);
    assert.deepEqual(left(), [[], []]);
    const before = readdirSync('/proc/self/fd').length;
    for (const turns of [0, 1, 2, 3, 4, 8]) {
      const gone = kubeletSockets(resource, kubelet);
      const made = gone.ensure().catch(() => undefined);
      for (let nth = 0; nth < turns; nth += 1) await nextTurn();
      gone.close(true);
      await made;
      assert.deepEqual(left(), [[], []], `${String(turns)} turns`);
      await assert.rejects(gone.ensure(), /not wanted any more/);
    }
    await eventually('no descriptor more', () => readdirSync('/proc/self/fd').length <= before);
    const gone = kubeletSockets(resource, kubelet);
    const later = kubeletSockets(resource, kubelet);
    const made = gone.ensure().catch(() => undefined);
    gone.close(true);
    await Promise.all([made, later.ensure()]);
    const { socket } = namesOf(resource);
    assert.deepEqual(left(), [[socket], [socket]]);
    const its = lstatSync(path.join(devicePlugins, 'plugin-broker', socket)).ino;
    gone.close(true);
    assert.equal(lstatSync(path.join(devicePlugins, 'plugin-broker', socket)).ino, its);
    later.close(false);
    assert.deepEqual(left(), [[socket], [socket]], 'they stay for a successor');
  });

  it('have an entry in the registry that is made once, among as many as there may be plugins', async () => {
    const kubelet = tempDir();
    const { registry, plugins } = kubeletPaths(kubelet);
    const [resource, other] = ['example.com/gpu', 'example.com/other'];
    const place = kubeletSockets(resource, kubelet);
    assert.equal(place.enter(), undefined);
    const { entry, socket } = namesOf(resource);
    const link = path.join(registry, entry);
    assert.equal(path.resolve(registry, readlinkSync(link)), path.join(plugins, 'plugin-broker', socket));
    const { ino } = lstatSync(link);
    assert.equal(place.enter(), undefined);
    assert.equal(lstatSync(link).ino, ino);
    assert.match(kubeletSockets(other, kubelet).enter() ?? '', /^the registry has 1 entries .*admission\.maxPlugins/);
    const third = (uid: number): string | undefined =>
      kubeletSockets('example.com/third', kubelet, { most: 2, uid }).enter();
    assert.match(third(4001) ?? '', /^the registry has 1 entries .*ordinary users have half of admission\.maxPlugins/);
    assert.deepEqual(readdirSync(registry), [entry]);
    assert.equal(third(0), undefined);
  });

  it('have an eighth of the entries where their plugins are of one ordinary user', () => {
    const kubelet = tempDir();
    const open = openSockets(kubelet, 32);
    const entered = (names: number, uid: number): (string | undefined)[] =>
      Array.from({ length: names }, (_, nth) => open(`u${String(uid)}.example/${String(nth)}`, uid).enter());
    assert.deepEqual(entered(4, 4001), Array.from({ length: 4 }));
    assert.match(
      open('u4001.example/more', 4001).enter() ?? '',
      /^the registry has 4 entries for plugins of uid 4001, an eighth of admission\.maxPlugins$/,
    );
    assert.equal(open('u4001.example/0', 4001).enter(), undefined, 'it has one');
    assert.deepEqual(entered(4, 4002), Array.from({ length: 4 }));
    assert.deepEqual(entered(8, 0), Array.from({ length: 8 }));
  });

  it('have no entry in a registry that ordinary users may write: who removes it would cut the kubelet off', () => {
    const kubelet = tempDir();
    const { registry } = kubeletPaths(kubelet);
    mkdirSync(registry);
    chmodSync(registry, 0o775);
    assert.match(
      kubeletSockets('example.com/gpu', kubelet).enter() ?? '',
      /^no entry can be made in .*: .* may be written by group .*make it root's/,
    );
    assert.deepEqual(readdirSync(registry), []);
  });

  it('leave what somebody else put in the place of their entry, and name it', async () => {
    const resource = 'example.com/gpu';
    const { entry } = namesOf(resource);
    for (const put of [
      (file: string) => writeFileSync(file, 'theirs'),
      (file: string) => symlinkSync('../elsewhere.sock', file),
    ]) {
      const kubelet = tempDir();
      const { registry } = kubeletPaths(kubelet);
      const file = path.join(registry, entry);
      mkdirSync(registry, { recursive: true });
      put(file);
      const { ino } = lstatSync(file);
      assert.equal(
        kubeletSockets(resource, kubelet).enter(),
        `${file} is not the broker's; remove it, or set front.doors: register`,
      );
      assert.equal(lstatSync(file).ino, ino);
    }
  });
});
