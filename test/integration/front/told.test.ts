// What operators see of the front besides the states of resources: events and metrics.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrokerEvent } from '../../../src/model/event.js';
import { eventually } from '../../support/eventually.js';
import { frontWorlds, RESOURCE } from '../../support/front-world.js';
import { scrape } from '../../support/scrape.js';

describe('what operators are told of the front', { timeout: 120_000 }, () => {
  const newWorld = frontWorlds();

  it('is an event of each state of a resource, and metrics of resources, calls and the gate', async () => {
    const world = newWorld({ http: { listen: '127.0.0.1:0' } });
    await world.start({ preStart: true });
    const messages = await eventually('the kubelet has it', async () => {
      const events: BrokerEvent[] = [];
      for await (const event of world.broker.admin.events(0, `DevicePlugin/${RESOURCE}`, false)) events.push(event);
      const told = events.filter(({ type }) => type === 'front').map(({ message }) => message);
      return told.some((message) => message.includes(': fronted')) && told;
    });
    assert.deepEqual(messages, [
      `${RESOURCE} towards the kubelet: registering`,
      `${RESOURCE} towards the kubelet: fronted, the kubelet follows its list`,
    ]);
    await world.pod('p');
    const series = await scrape(world.broker);
    for (const name of [
      'plugin_broker_front_resources{state="fronted"}',
      'plugin_broker_front_calls_total{method="Allocate",result="ok"}',
      'plugin_broker_front_calls_total{method="PreStartContainer",result="ok"}',
      'plugin_broker_front_gate_seconds_count',
    ]) {
      assert.equal(series.get(name), 1, name);
    }
    assert.equal(series.get('plugin_broker_front_resources{state="no-kubelet"}'), 0);
  });
});
