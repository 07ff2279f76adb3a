import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

/** More than the broker needs for itself, and far less than it would take connections. */
const OPEN_FILES = 96;

const cleanup: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const clean of cleanup) await clean();
});

async function plugin(broker: BrokerProcess, name: string): Promise<FakePlugin> {
  const one = await FakePlugin.start({
    socket: path.join(broker.devicePlugins, `${name}.sock`),
    resource: `example.com/${name}`,
  });
  cleanup.push(() => one.stop());
  return one;
}

/** Opens connections that say nothing. */
function crowd(broker: BrokerProcess, size: number): { readonly sockets: Socket[]; readonly closed: () => number } {
  let closed = 0;
  const sockets = Array.from({ length: size }, () =>
    createConnection(broker.kubeletSocket)
      .on('error', () => undefined)
      .on('close', () => (closed += 1))
      .resume(),
  );
  cleanup.push(() => sockets.forEach((socket) => socket.destroy()));
  return { sockets, closed: () => closed };
}

void describe('out of file descriptors', { concurrency: true }, () => {
  void it('says so once, goes on for admitted plugins, and takes newcomers when descriptors are free again', async () => {
    const limit = `--nofile=${OPEN_FILES}:${OPEN_FILES}`;
    const broker = new BrokerProcess(tempDir(), { guard: { preface: '60s' } }, { within: ['prlimit', limit] });
    cleanup.push(() => broker.close());
    await broker.start();
    const inside = await plugin(broker, 'inside');
    await inside.register(broker.kubeletSocket);
    await eventually('in', async () => (await broker.allocatable('example.com/inside')) === 2);

    const { sockets, closed } = crowd(broker, 2 * OPEN_FILES);
    await eventually('some are turned away', () => closed() > OPEN_FILES);
    const status = await broker.status();
    assert.equal(status.broker.phase, 'degraded');
    assert.match(status.broker.problems.join(), /^file descriptors run out \(96 may be open\).*LimitNOFILE/);

    const late = await plugin(broker, 'late');
    await assert.rejects(late.register(broker.kubeletSocket), { code: 14 });
    inside.setDevices(healthy('a', 'b', 'c'));
    await eventually('a new list is taken', async () => (await broker.allocatable('example.com/inside')) === 3);
    await broker.onDisk('example.com/inside');
    // The watcher door needs descriptors of ours alone, and some are kept for that.
    const watched = await FakePlugin.start({
      socket: path.join(broker.registry, 'watched.sock'),
      resource: 'example.com/watched',
      door: 'watcher',
    });
    cleanup.push(() => watched.stop());
    await eventually('found', async () => (await broker.allocatable('example.com/watched')) === 2);
    assert.equal((await broker.status()).checkpoint.state, 'ok');

    for (const socket of sockets) socket.destroy();
    await eventually('the newcomer gets in', () => late.register(broker.kubeletSocket).then(() => true));
    await eventually('all is well', async () => (await broker.status()).broker.phase === 'ready');
    const lines = (): string[] => broker.log.split('\n').filter((line) => line.includes('file descriptors'));
    const told = await eventually('it is told', () => (lines().length >= 2 ? lines() : undefined));
    assert.equal(told.length, 2, told.join('\n'));
    assert.match(told[1] ?? '', /file descriptors are free again/);
    assert.doesNotMatch(broker.log, /EMFILE/);
  });

  void it('when accept itself fails (EMFILE), says so, and goes on once the limit is raised', async () => {
    const broker = new BrokerProcess(tempDir(), { guard: { preface: '60s' }, discovery: { rescan: '200ms' } });
    cleanup.push(() => broker.close());
    await broker.start();
    const { pid } = broker;
    assert.ok(pid !== undefined);
    const allow = (files: string): void =>
      void execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${files}:`], { stdio: 'ignore' });
    const inside = await plugin(broker, 'inside');
    await inside.register(broker.kubeletSocket);
    await eventually('in', async () => (await broker.allocatable('example.com/inside')) === 2);

    const before = /Max open files\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1] ?? '';
    const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
    let lowestFree = 0;
    while (open.has(lowestFree)) lowestFree += 1;
    allow(String(lowestFree));
    const { closed } = crowd(broker, 20);
    const late = await plugin(broker, 'late');
    // A file that was open for a moment when the limit was chosen may have left one descriptor: then the call gets in, and no further.
    await assert.rejects(
      late.register(broker.kubeletSocket),
      ({ code, message }: { code: number; message: string }) => {
        return code === 14 || /BUSY: example\.com\/late: the broker has no(thing| file descriptor) left/.test(message);
      },
    );
    // Not even operators get in now: the log is all there is.
    await eventually('it is told', () => broker.log.includes('file descriptors run out'));
    inside.setDevices(healthy('a', 'b', 'c'));
    await eventually('those that came are turned away', () => closed() > 0);

    allow(before);
    await eventually('the newcomer gets in', () => late.register(broker.kubeletSocket).then(() => true));
    await eventually('all is well', async () => (await broker.status()).broker.phase === 'ready');
    await broker.onDisk('example.com/late');
    await eventually('the list is taken', async () => (await broker.allocatable('example.com/inside')) === 3);
    assert.deepEqual([inside.streams, inside.count('ListAndWatch')], [1, 1], 'a plugin that was in has lost nothing');
    assert.equal((await broker.status()).broker.pid, pid);
  });

  void it('that another process holds by idle connections: these give way, and newcomers get in', async () => {
    const limit = `--nofile=${OPEN_FILES}:${OPEN_FILES}`;
    const broker = new BrokerProcess(tempDir(), {}, { within: ['prlimit', limit] });
    cleanup.push(() => broker.close());
    await broker.start();
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'idle-connections.js');
    const args = [file, broker.kubeletSocket, String(2 * OPEN_FILES)];
    const holder = spawn(process.execPath, args, { stdio: 'ignore' });
    cleanup.push(() => void holder.kill('SIGKILL'));
    await eventually('it is told', async () =>
      (await broker.status()).broker.problems.join().includes('file descriptors run out'),
    );
    for (const name of ['first', 'second', 'third']) {
      const newcomer = await plugin(broker, name);
      await newcomer.register(broker.kubeletSocket);
    }
    assert.equal(holder.exitCode, null);
    assert.match(broker.log, /GAVE_WAY/);
  });

  void it('a call that we make is BUSY with a time, and who listens is not known: nothing is said of the plugin', async () => {
    const one = await FakePlugin.start({ socket: path.join(tempDir(), 'living.sock') });
    cleanup.push(() => one.stop());
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'scarce-dialler.js');
    const { stdout } = await promisify(execFile)('prlimit', ['--nofile=64:64', process.execPath, file, one.socket]);
    assert.deepEqual(JSON.parse(stdout), [
      ['BUSY 1000', 'EMFILE'],
      ['answered', true],
    ]);
  });
});
