import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { deadSockets } from '../../support/dead-sockets.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';

const OTHER_UID = 54321;
const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can give a directory away';

/** inotify watches of a process, as the kernel lists them. */
function watches(pid: number): number {
  let count = 0;
  for (const fd of readdirSync(`/proc/${String(pid)}/fd`)) {
    try {
      count += readFileSync(`/proc/${String(pid)}/fdinfo/${fd}`, 'utf8').match(/^inotify wd:/gm)?.length ?? 0;
    } catch {
      // closed meanwhile
    }
  }
  return count;
}

void describe('a directory full of sockets on which nobody listens', () => {
  const broker = new BrokerProcess(tempDir(), { discovery: { maxSockets: 64, rescan: '1s' }, log: { level: 'error' } });
  let hostile: string;
  before(async () => {
    await broker.start();
    chmodSync(broker.root, 0o755);
    chmodSync(broker.registry, 0o755);
    hostile = path.join(broker.registry, 'h');
    mkdirSync(hostile);
  });
  after(() => broker.close());

  void it('has a share of the broker and no more, and status says so', { skip }, async () => {
    chownSync(hostile, OTHER_UID, OTHER_UID);
    deadSockets(hostile, 200, OTHER_UID);
    await eventually('it is told', async () => {
      const { problems } = (await broker.status()).broker;
      return problems.some((one) => one.includes(`uid ${String(OTHER_UID)}`) && one.includes('discovery.maxSockets'));
    });
    const plugin = await FakePlugin.start({
      socket: path.join(broker.registry, 'living.sock'),
      resource: 'example.com/living',
      door: 'watcher',
    });
    await eventually('the living one is in', async () => (await broker.allocatable('example.com/living')) === 2);
    await plugin.stop();
    const descriptors = readdirSync(`/proc/${String(broker.pid)}/fd`).length;
    assert.ok(descriptors < 200, `${String(descriptors)} descriptors are open`);
  });

  void it('costs one watch for each directory, however many files are in it', async () => {
    const many = path.join(broker.registry, 'files');
    mkdirSync(many);
    for (let at = 0; at < 300; at++) writeFileSync(path.join(many, `${String(at)}.txt`), '');
    const inner = path.join(many, 'inner');
    mkdirSync(inner);
    const plugin = await FakePlugin.start({
      socket: path.join(inner, 'deep.sock'),
      resource: 'example.com/deep',
      door: 'watcher',
    });
    await eventually('a socket below is found', async () => (await broker.allocatable('example.com/deep')) === 2);
    assert.ok(watches(broker.pid ?? 0) < 20, `${String(watches(broker.pid ?? 0))} watches`);
    await plugin.stop();
  });

  void it('does not keep a socket out that is listened on at last', async () => {
    const socket = path.join(broker.registry, 'late.sock');
    deadSockets(broker.registry, 1, process.getuid?.() ?? 0, 'late');
    const plugin = await FakePlugin.start({ socket, resource: 'example.com/late', door: 'watcher' });
    await eventually('it is in', async () => (await broker.allocatable('example.com/late')) === 2);
    await plugin.stop();
  });
});

void describe("root's sockets in the directory of another user, who has renamed them into it", () => {
  /** Connections on which a call has begun, and the most of them at one time. */
  const asked = { now: 0, most: 0, sockets: new Set<string>() };

  /** Accepts, and never answers. */
  function silent(file: string): Promise<Server> {
    const server = createServer((connection) => {
      connection.on('error', () => undefined);
      connection.once('data', () => {
        asked.sockets.add(file);
        asked.now += 1;
        asked.most = Math.max(asked.most, asked.now);
        connection.resume().once('close', () => (asked.now -= 1));
      });
    });
    return new Promise((resolve) => server.listen(file, () => resolve(server)));
  }

  void it('are asked in the turns of that user', { skip }, async () => {
    const root = tempDir();
    const [made, theirs] = [path.join(root, 'made'), path.join(root, 'plugins_registry', 'theirs')];
    mkdirSync(made);
    mkdirSync(theirs, { recursive: true });
    chownSync(theirs, OTHER_UID, OTHER_UID);
    const files = Array.from({ length: 40 }, (_, at) => `${String(at)}.sock`);
    const servers = await Promise.all(files.map((name) => silent(path.join(made, name))));
    for (const name of files) renameSync(path.join(made, name), path.join(theirs, name));
    const broker = await startTestBroker(root, (settings) => ({
      ...settings,
      timeouts: { ...settings.timeouts, getInfoMs: 200 },
    }));
    try {
      await eventually('each was asked', () => asked.sockets.size === files.length);
      assert.ok(asked.most <= 16, `${String(asked.most)} at once`);
    } finally {
      await broker.stop();
      for (const server of servers) server.close();
    }
  });
});
