// What operators see of leases besides the leases: events and metrics.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BrokerEvent } from '../../../src/model/event.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { healthy, type FakePlugin } from '../../support/fake-plugin.js';
import { PodResourcesCaller } from '../../support/pod-resources-caller.js';
import { scrape } from '../../support/scrape.js';
import { servedPlugin } from '../../support/served-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const GPU = 'vendor.com/gpu';
/** A peer that asks for /metrics more often than 20 times a second is slowed down. */
const SELDOM = { everyMs: 100 };

describe('what operators are told of leases', () => {
  const broker = new BrokerProcess(tempDir(), { http: { listen: '127.0.0.1:0' }, cdi: { dir: 'off' } });
  let plugin: FakePlugin;
  let client: AllocClient;

  before(async () => {
    await broker.start();
    plugin = await servedPlugin(broker, { resource: GPU, devices: healthy('a', 'b') });
    client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  });
  after(async () => {
    client.close();
    await plugin.stop();
    await broker.close();
  });

  /** Waits for an event about a lease. */
  function told(type: BrokerEvent['type'], id: string): Promise<BrokerEvent> {
    return eventually(`${type} is told`, async () => {
      for await (const event of broker.admin.events(0, `DevicePlugin/${GPU}`, false)) {
        if (event.type === type && event.message.includes(id)) return event;
      }
      return undefined;
    });
  }

  it('are metrics: leases, allocations by their result, their seconds, who waits, and calls of PodResources', async () => {
    const lease = await client.one(GPU, { count: 2, key: 'both' });
    assert.equal(await refusalOf(client.one(GPU, { key: 'none left' })), 'NO_DEVICES');
    const ofGpu = `resource="${GPU}"`;
    const waiting = client.one(GPU, { key: 'waits', waitMs: 20_000 });
    const pods = new PodResourcesCaller(path.join(broker.root, 'pod-resources', 'kubelet.sock'));
    await pods.list();
    pods.close();
    const expected = {
      [`plugin_broker_leases{${ofGpu},state="active"}`]: 1,
      [`plugin_broker_allocations_total{${ofGpu},result="given"}`]: 1,
      [`plugin_broker_allocations_total{${ofGpu},result="NO_DEVICES"}`]: 1,
      'plugin_broker_allocate_seconds_count{part="wait"}': 1,
      'plugin_broker_allocate_seconds_count{part="plugin"}': 1,
      'plugin_broker_allocate_seconds_count{part="disk"}': 1,
      'plugin_broker_allocate_seconds_count{part="all"}': 1,
      plugin_broker_allocate_waiting: 1,
      'plugin_broker_pod_resources_total{method="List",result="ok"}': 1,
    };
    // An answer is the same for all who ask within a moment.
    await eventually(
      'all is counted',
      async () => {
        const series = await scrape(broker);
        assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, series.get(name)])), expected);
        return true;
      },
      SELDOM,
    );
    await client.release({ id: lease.id });
    const { id } = await waiting;
    await client.release({ id });
    const waits = async (): Promise<boolean> => (await scrape(broker)).get('plugin_broker_allocate_waiting') !== 0;
    await eventually('nobody waits', async () => !(await waits()), SELDOM);
  });

  it('are events: given, impaired, released and expired, each with its reason', async () => {
    const owner = { namespace: 'ci', name: 'run-7' };
    const { id } = await client.one(GPU, { ids: ['b'], key: 'job', owner });
    const given = await told('allocated', id);
    assert.equal(given.reason, '');
    assert.match(given.message, new RegExp(`^lease ${id} of ci/run-7 \\(uid \\d+\\) is given: b of ${GPU}$`));
    plugin.setDevices(healthy('a'));
    assert.equal((await told('impaired', id)).reason, 'device-missing');
    plugin.setDevices(healthy('a', 'b'));
    await client.release({ id });
    assert.equal((await told('released', id)).reason, 'by-request');
    const short = await client.one(GPU, { key: 'short', ttlMs: 50 });
    assert.equal((await told('expired', short.id)).reason, 'ttl-over');
  });
});
