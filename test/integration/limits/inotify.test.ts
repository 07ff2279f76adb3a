import assert from 'node:assert/strict';
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
  { what: 'no instances left (EMFILE)', limit: 'max_inotify_instances', most: 0, says: /EMFILE/, troubles: 2 },
];

void describe('inotify at its limit', { concurrency: true, skip: impossible }, () => {
  for (const { what, limit, most, says, troubles } of CASES) {
    void it(`${what}: says so, finds sockets by looking, and watches again when it can`, async () => {
      const broker = new BrokerProcess(
        tempDir(),
        { discovery: { rescan: '300ms' } },
        { within: inNamespaces(OWN_USER, setLimit(limit, most)) },
      );
      cleanup.push(() => broker.close());
      await broker.start();
      const { phase, problems } = (await broker.status()).broker;
      assert.equal(phase, 'degraded');
      assert.equal(problems.length, troubles, problems.join('\n'));
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
});
