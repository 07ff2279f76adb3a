import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { cannotPrepare, inNamespaces, inNamespacesOf } from '../../support/namespaces.js';
import { tempDir } from '../../support/temp-dir.js';

/** A user of its own has limits of its own. */
const OWN_USER = ['--user', '--map-root-user'];
const setLimit = (name: string, most: number): string => `echo ${most} > /proc/sys/user/${name}`;
const impossible = cannotPrepare(OWN_USER, setLimit('max_inotify_watches', 0));

const cleanup: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const clean of cleanup) await clean();
});

async function plugin(folder: string, name: string, door: 'register' | 'watcher'): Promise<FakePlugin> {
  const socket = path.join(folder, `${name}.sock`);
  const one = await FakePlugin.start({ socket, resource: `example.com/${name}`, door });
  cleanup.push(() => one.stop());
  return one;
}

const CASES = [
  { what: 'no watches left (ENOSPC)', limit: 'max_inotify_watches', most: 0, says: /ENOSPC/, troubles: 2 },
  {
    what: 'watches for one directory of two (ENOSPC)',
    limit: 'max_inotify_watches',
    most: 1,
    says: /ENOSPC/,
    troubles: 1,
  },
  {
    what: 'watches for both directories and none for one below (ENOSPC)',
    limit: 'max_inotify_watches',
    most: 2,
    below: 'below',
    says: /ENOSPC/,
    troubles: 1,
  },
  { what: 'no instances left (EMFILE)', limit: 'max_inotify_instances', most: 0, says: /EMFILE/, troubles: 2 },
];

const ENOUGH = [
  { what: 'as many watches as directories', limit: 'max_inotify_watches', most: 2 },
  { what: 'one instance', limit: 'max_inotify_instances', most: 1 },
];

void describe('inotify at its limit', { concurrency: true, skip: impossible }, () => {
  for (const { what, limit, most, below = '', says, troubles } of CASES) {
    void it(`${what}: says so, finds sockets by looking, and watches again when it can`, async () => {
      const broker = new BrokerProcess(
        tempDir(),
        { discovery: { rescan: '300ms' } },
        { within: inNamespaces(OWN_USER, setLimit(limit, most)) },
      );
      cleanup.push(() => broker.close());
      mkdirSync(path.join(broker.registry, below), { recursive: true });
      await broker.start();
      await eventually('it says so', async () => (await broker.status()).broker.problems.length === troubles);
      const { phase, problems } = (await broker.status()).broker;
      assert.equal(phase, 'degraded');
      for (const problem of problems) {
        assert.match(problem, /cannot be watched: the system's inotify limit is reached .*raise fs\.inotify/);
        assert.match(problem, says);
      }

      const watched = await plugin(broker.registry, 'watched', 'watcher');
      await eventually('found', async () => (await broker.allocatable('example.com/watched')) === 2);
      const calling = await plugin(broker.devicePlugins, 'calling', 'register');
      await calling.register(broker.kubeletSocket);
      await eventually('in', async () => (await broker.allocatable('example.com/calling')) === 2);
      await watched.stop();
      await eventually('its end is noticed', async () => (await broker.allocatable('example.com/watched')) !== 2);

      assert.ok(broker.pid !== undefined);
      inNamespacesOf(broker.pid, ['--user', '--preserve-credentials'], setLimit(limit, 1000));
      await eventually('all is well', async () => (await broker.status()).broker.phase === 'ready');
      const late = await plugin(broker.registry, 'late', 'watcher');
      await eventually('registered', () => late.notified.length === 1);
      const told = [...broker.log.matchAll(/"broker\.degraded","msg":"([^"]+)"/g)].map(([, sentence]) => sentence);
      assert.ok(told.length >= 2 * troubles, told.join('\n'));
      assert.equal(new Set(told).size, told.length, `each is told once, but: ${told.join('\n')}`);
    });
  }

  for (const { what, limit, most } of ENOUGH) {
    void it(`${what}: nothing is amiss`, async () => {
      const broker = new BrokerProcess(tempDir(), {}, { within: inNamespaces(OWN_USER, setLimit(limit, most)) });
      cleanup.push(() => broker.close());
      await broker.start();
      for (const [folder, name, door] of [
        [broker.registry, 'watched', 'watcher'],
        [broker.devicePlugins, 'calling', 'register'],
      ] as const) {
        const one = await plugin(folder, name, door);
        if (door === 'register') await one.register(broker.kubeletSocket);
        await eventually(`${name} is in`, async () => (await broker.allocatable(`example.com/${name}`)) === 2);
        await one.stop();
        await eventually('its end is noticed', async () => (await broker.allocatable(`example.com/${name}`)) !== 2);
      }
      assert.deepEqual((await broker.status()).broker.problems, []);
      assert.doesNotMatch(broker.log, /broker\.degraded/);
    });
  }
});
