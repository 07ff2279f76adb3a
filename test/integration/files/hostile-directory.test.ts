import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const OTHER_UID = 54321;
const isRoot = process.getuid?.() === 0;
/** How long the attacker has. Version 0.1 was led astray within a second. */
const ATTACK_MS = 3000;

void describe('a device-plugin directory that others may write', () => {
  const children: ChildProcess[] = [];
  const brokers: BrokerProcess[] = [];
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(brokers.map((one) => one.close()));
  });

  function broker(mode = 0o777): BrokerProcess {
    const one = new BrokerProcess(tempDir(), { discovery: { rescan: '100ms' } });
    brokers.push(one);
    mkdirSync(one.devicePlugins);
    chmodSync(one.root, 0o755);
    chmodSync(one.devicePlugins, mode);
    return one;
  }

  async function hostile(...argv: readonly string[]): Promise<ChildProcess> {
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'name-exchanger.js');
    const child = spawn(process.execPath, [file, String(OTHER_UID), ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  /** Makes it another user's, where the tests run as root. */
  function anothers(file: string): void {
    if (isRoot) lchownSync(file, OTHER_UID, OTHER_UID);
  }

  async function servesAPlugin(one: BrokerProcess, name: string): Promise<void> {
    const plugin = await FakePlugin.start({
      socket: path.join(one.devicePlugins, `${name}.sock`),
      resource: `example.com/${name}`,
    });
    try {
      await plugin.register(one.kubeletSocket);
    } finally {
      await plugin.stop();
    }
  }

  void it('does not lead the broker to change the mode of a file elsewhere, however names are exchanged', async () => {
    const one = broker();
    const victim = path.join(one.root, 'victim');
    writeFileSync(victim, 'secret', { mode: 0o600 });
    await one.start();
    const attacker = await hostile('mode', one.devicePlugins, victim);
    const until = performance.now() + ATTACK_MS;
    while (performance.now() < until && (statSync(victim).mode & 0o777) === 0o600) await pause(20);
    attacker.kill('SIGKILL');
    assert.equal((statSync(victim).mode & 0o777).toString(8), '600');
    await eventually('kubelet.sock is back', () => lstatSync(one.kubeletSocket).isSocket());
    assert.equal((statSync(one.kubeletSocket).mode & 0o777).toString(8), '755');
    await servesAPlugin(one, 'after');
    await one.end('SIGTERM');
  });

  void it(
    'leaves kubelet.sock to the broker where it is sticky, and lets no mode of a file elsewhere be changed there either',
    { skip: isRoot ? false : 'SKIPPED: only root can be another user' },
    async () => {
      const one = broker(0o1777);
      const victim = path.join(one.root, 'victim');
      writeFileSync(victim, 'secret', { mode: 0o600 });
      await one.start();
      const before = lstatSync(one.kubeletSocket, { bigint: true });
      const attacker = await hostile('mode', one.devicePlugins, victim);
      await servesAPlugin(one, 'beside');
      await one.end('SIGTERM');
      assert.equal(lstatSync(one.kubeletSocket, { bigint: true }).ino, before.ino);
      await one.start();
      attacker.kill('SIGKILL');
      assert.equal((statSync(victim).mode & 0o777).toString(8), '600');
      await servesAPlugin(one, 'after');
      await one.end('SIGTERM');
    },
  );

  for (const [directory, mode] of [
    ['a directory', 0o777],
    ['a sticky directory', 0o1777],
  ] as const) {
    void it(`keeps no broker from starting by directories under the names of its private files in ${directory}`, async () => {
      const one = broker(mode);
      for (const name of ['.pb-kuX', '.pb-ku1', '.pb-listen-abcdef']) {
        mkdirSync(path.join(one.devicePlugins, name, 'full'), { recursive: true });
        anothers(path.join(one.devicePlugins, name, 'full'));
        anothers(path.join(one.devicePlugins, name));
      }
      writeFileSync(path.join(one.devicePlugins, '.pb-ku2'), '');
      anothers(path.join(one.devicePlugins, '.pb-ku2'));
      await one.start();
      await servesAPlugin(one, 'started');
      await one.end('SIGTERM');
    });
  }

  void it('loses nothing hidden that another user left, in a sticky directory', async () => {
    const one = broker(0o1777);
    const theirs = ['.pb-listen-aaaaaa', '.pb-listen-bbbbbb', '.pb-kept-cccccc', '.pb-aside-dddddd'];
    for (const name of theirs) mkdirSync(path.join(one.devicePlugins, name), { mode: 0o700 });
    // As in folders of the broker: its mark, and a socket on which nobody listens any more.
    const [marked = ''] = theirs.map((name) => path.join(one.devicePlugins, name));
    writeFileSync(path.join(marked, '.pb-listen'), '');
    const socket = path.join(marked, '.s0123456789ab');
    const listens = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', listens, socket]);
    assert.ok(lstatSync(socket).isSocket());
    for (const file of ['.pb-listen', '.s0123456789ab']) anothers(path.join(marked, file));
    for (const name of theirs) anothers(path.join(one.devicePlugins, name));
    for (const life of ['first', 'second']) {
      // Of the broker's own user, so that it is known when the leftovers were looked at.
      if (isRoot) mkdirSync(path.join(one.devicePlugins, '.pb-listen-zzzzzz'), { mode: 0o700 });
      for (const name of readdirSync(one.devicePlugins)) {
        if (name.startsWith('.pb-')) utimesSync(path.join(one.devicePlugins, name), 0, 0); // a while ago
      }
      await one.start();
      await servesAPlugin(one, life);
      const ours = path.join(one.devicePlugins, '.pb-listen-zzzzzz');
      await eventually('the leftover of the broker is removed', () => !existsSync(ours));
      await one.end('SIGTERM');
      if (!isRoot) continue; // they are its own then
      for (const name of theirs)
        assert.ok(existsSync(path.join(one.devicePlugins, name)), `${name} after the ${life} life`);
      assert.deepEqual(readdirSync(marked).sort(), ['.pb-listen', '.s0123456789ab']);
    }
  });

  const inTheWay: Readonly<Record<string, (file: string) => void>> = {
    'an empty directory': (file) => mkdirSync(file),
    'a directory with something in it': (file) => mkdirSync(path.join(file, 'full'), { recursive: true }),
    'a FIFO': (file) => execFileSync('mkfifo', [file]),
    'a regular file': (file) => writeFileSync(file, 'mine'),
    'a dangling link': (file) => symlinkSync('/nowhere/at/all', file),
    'a link to a directory': (file) => symlinkSync('/tmp', file),
  };
  for (const [what, make] of Object.entries(inTheWay)) {
    void it(`keeps no broker from starting by ${what} called kubelet.sock`, async () => {
      const one = broker();
      make(one.kubeletSocket);
      await one.start();
      await servesAPlugin(one, 'started');
      await one.end('SIGTERM');
    });

    void it(`keeps no broker from starting by ${what} of another user called kubelet.sock where it is sticky`, async () => {
      const one = broker(0o1777);
      make(one.kubeletSocket);
      anothers(one.kubeletSocket);
      await one.start();
      assert.ok(lstatSync(one.kubeletSocket).isSocket());
      await servesAPlugin(one, 'started');
      await one.end('SIGTERM');
    });
  }

  void it('keeps no broker from starting though somebody takes the name kubelet.sock as fast as it can', async () => {
    const one = broker();
    const attacker = await hostile('take', one.kubeletSocket);
    await one.start();
    attacker.kill('SIGKILL');
    assert.equal(lstatSync(one.kubeletSocket).isSocket(), true);
    const aside = readdirSync(one.devicePlugins).filter((name) => name.startsWith('.pb-aside-'));
    assert.ok(aside.length < 300, `${String(aside.length)} directories were left aside`);
    await servesAPlugin(one, 'after');
  });

  void it('loses nothing that was called kubelet.sock and was no socket', async () => {
    const one = broker();
    writeFileSync(one.kubeletSocket, 'mine');
    await one.start();
    const [aside = ''] = readdirSync(one.devicePlugins).filter((name) => name.startsWith('.pb-aside-'));
    assert.equal(readFileSync(path.join(one.devicePlugins, aside), 'utf8'), 'mine');
    await eventually('it is said where it went', () => one.log.includes(aside) && one.log.includes('moved-aside'));
    await one.end('SIGTERM');
  });

  void it(
    'keeps no broker from starting by a socket of another user that listens as kubelet.sock',
    { skip: isRoot ? false : 'SKIPPED: only root can be another user' },
    async () => {
      const one = broker();
      await hostile('listen', one.kubeletSocket);
      await one.start();
      await servesAPlugin(one, 'started');
      await one.end('SIGTERM');
    },
  );

  void it('has nothing hidden left in it by a broker that was killed before its socket had its name', async () => {
    const one = broker();
    const module = path.join(import.meta.dirname, '../../../src/platform/fs/socket-place.js');
    const end = `process.kill(process.pid, 'SIGKILL')`;
    const opens = `import { SocketPlace } from '${module}'; import { createServer } from 'node:net';
      const place = SocketPlace.open('${one.kubeletSocket}');`;
    const listens = `createServer().listen(place.bindPath, () => ${end})`;
    for (const text of [`${opens}${end}`, `${opens}${listens}`]) {
      spawnSync(process.execPath, ['--input-type=module', '-e', text]);
    }
    mkdirSync(path.join(one.devicePlugins, '.pb-listen-aaaaaa'), { mode: 0o700 }); // killed before it was marked
    const left = readdirSync(one.devicePlugins);
    assert.equal(left.length, 3);
    for (const name of left) utimesSync(path.join(one.devicePlugins, name), 0, 0); // a while ago
    await one.start();
    await eventually('the leftovers are removed', () => readdirSync(one.devicePlugins).length === 1);
    assert.deepEqual(readdirSync(one.devicePlugins), ['kubelet.sock']);
    await one.end('SIGTERM');
  });

  void it('takes the name back from a directory that is made while the broker runs', async () => {
    const one = broker();
    await one.start();
    const full = path.join(one.devicePlugins, 'directory');
    mkdirSync(path.join(full, 'full'), { recursive: true });
    await eventually('the directory has the name', () => {
      rmSync(one.kubeletSocket, { force: true });
      renameSync(full, one.kubeletSocket); // fails where the broker was faster
      return true;
    });
    await eventually('kubelet.sock is a socket again', () => statSync(one.kubeletSocket).isSocket());
    await servesAPlugin(one, 'again');
    assert.equal(existsSync(path.join(one.kubeletSocket, 'full')), false);
    await one.end('SIGTERM');
  });
});
