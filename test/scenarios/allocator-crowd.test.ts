import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AllocClient } from '../support/alloc-client.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { healthy, type FakePlugin } from '../support/fake-plugin.js';
import { servedPlugin } from '../support/served-plugin.js';
import { tempDir } from '../support/temp-dir.js';

const GPU = 'vendor.com/gpu';
const CLIENTS = 200;

describe('200 clients and one device', { timeout: 120_000 }, () => {
  const broker = new BrokerProcess(tempDir(), { cdi: { dir: 'off' }, flood: { allocate: { burst: 1000 } } });
  const socket = path.join(broker.root, 'alloc.sock');
  const clients: AllocClient[] = [];
  let plugin: FakePlugin;

  before(async () => {
    await broker.start();
    plugin = await servedPlugin(broker, { resource: GPU, devices: healthy('only') });
  });
  after(async () => {
    for (const client of clients) client.close();
    await plugin.stop();
    await broker.close();
  });

  it('are served one after the other, in the order in which they came, and never two at a time', async () => {
    const holder = new AllocClient(socket);
    clients.push(holder);
    const first = await holder.one(GPU, { key: 'first' });
    const served: number[] = [];
    /** Has the device for a moment, in which it is in its lease alone. */
    const use = async (client: AllocClient, nth: number): Promise<void> => {
      const { id } = await client.one(GPU, { key: `k${String(nth)}`, waitMs: 60_000 });
      served.push(nth);
      const leases = await client.list();
      assert.deepEqual(
        leases.map((lease) => [lease.id, lease.granted[0]?.ids]),
        [[id, ['only']]],
      );
      await client.release({ id });
    };
    const all: Promise<void>[] = [];
    for (let nth = 0; nth < CLIENTS; nth += 1) {
      const client = new AllocClient(socket);
      clients.push(client);
      all.push(use(client, nth));
      // Only the broker knows who was there first.
      await eventually('it is in line', async () => (await broker.status()).ledger.waiting === nth + 1);
    }
    assert.deepEqual(served, []);
    await holder.release({ id: first.id });
    await Promise.all(all);
    assert.deepEqual(
      served,
      Array.from({ length: CLIENTS }, (_, nth) => nth),
    );
    assert.deepEqual(
      plugin.allocated.map((ids) => ids.join()),
      Array.from({ length: CLIENTS + 1 }, () => 'only'),
    );
    assert.deepEqual(await holder.list(), []);
  });
});
