import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AdminClient } from '../../../src/platform/grpc/admin-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import type { BrokerEvent } from '../../../src/model/event.js';
import { brokerEvent, FakeAdminPort, limitView, pluginView, resourceView } from '../../support/fake-admin-port.js';
import { run } from '../../support/program.js';
import { serveAdmin, type ServedAdminApi } from '../../support/served-admin.js';
import { tempDir } from '../../support/temp-dir.js';

const address = path.join(tempDir(), 'broker.sock');
const client = new AdminClient(address, systemClock, new AbortController().signal);
const DEVICES = 200_000;

describe('the admin API', () => {
  const port = new FakeAdminPort();
  let served: ServedAdminApi;
  before(async () => {
    served = await serveAdmin(address, port);
  });
  after(() => served.cut());

  it('carries a resource of 200,000 devices whole', async () => {
    const devices = Array.from({ length: DEVICES }, (_, index) => ({
      id: `GPU-${index}-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee`,
      health: index % 10 === 0 ? 'Unhealthy' : 'Healthy',
      numaNodes: [index % 2],
      lease: '',
      owner: '',
    }));
    port.resourceList = [resourceView({ devices, capacity: DEVICES }), resourceView({ name: 'b.io/x' })];
    assert.deepEqual(await client.resources('', false), port.resourceList);
    const status = await client.status(false);
    assert.deepEqual(status.resources, port.resourceList);
  });

  it('prints all of it into a pipe before it ends', async () => {
    const { code, stdout } = await run(['resources', '-o', 'json', '--address', address]);
    assert.equal(code, 0);
    const [many] = JSON.parse(stdout) as { devices: unknown[] }[];
    assert.equal(many?.devices.length, DEVICES);
  });

  it('leaves devices out where they are not wanted', async () => {
    const [many, few] = await client.resources('', true);
    assert.deepEqual([many?.devices, few?.devices, many?.capacity], [[], [], DEVICES]);
  });

  it('carries 1,024 plugins, 4,096 limits and 10,000 events', async () => {
    port.pluginList = Array.from({ length: 1024 }, (_, index) => pluginView({ name: `a.io/${index}` }));
    port.limitList = Array.from({ length: 4096 }, (_, index) => limitView({ plugin: `DevicePlugin/a.io/${index}` }));
    port.eventList = Array.from({ length: 10_000 }, (_, index) => brokerEvent({ seq: index + 1 }));
    assert.deepEqual(await client.plugins(''), port.pluginList);
    assert.deepEqual(await client.limits(''), port.limitList);
    const events: BrokerEvent[] = [];
    for await (const event of client.events(1, '', false)) events.push(event);
    assert.deepEqual(events, port.eventList);
  });

  it('carries nothing as nothing', async () => {
    Object.assign(port, { pluginList: [], limitList: [], resourceList: [] });
    assert.deepEqual(
      [await client.plugins(''), await client.limits(''), await client.resources('', false)],
      [[], [], []],
    );
    assert.deepEqual((await client.status(false)).plugins, []);
  });
});
