import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AdminService } from '../../../src/admin/admin-service.js';
import type { Answer } from '../../../src/model/answer.js';
import { brokerEvent, FakeAdminPort, limitView, pluginView, resourceView } from '../../support/fake-admin-port.js';

const never = new AbortController().signal;

function broker(): { port: FakeAdminPort; service: AdminService } {
  const port = new FakeAdminPort();
  port.pluginList = [pluginView(), pluginView({ name: 'disk.example.com', type: 'CSIPlugin', state: 'gone' })];
  port.resourceList = [resourceView()];
  port.limitList = [limitView(), limitView({ limit: 'global.register', plugin: '' })];
  return { port, service: new AdminService(port) };
}

const outcome = <T>(given: Answer<T>): unknown => (given.ok ? given.value : given.problem);

describe('AdminService', () => {
  it('gives the plugins of a name, or all', () => {
    const { service } = broker();
    assert.deepEqual(
      (outcome(service.plugins('')) as { name: string }[]).map(({ name }) => name),
      ['example.com/gpu', 'disk.example.com'],
    );
    assert.deepEqual(outcome(service.plugins('CSIPlugin/disk.example.com')), [
      pluginView({ name: 'disk.example.com', type: 'CSIPlugin', state: 'gone' }),
    ]);
  });

  it('proposes near names for an unknown resource', () => {
    assert.deepEqual(outcome(broker().service.resources('example.com/gpus')), {
      code: 'NOT_FOUND',
      message: 'no resource is called example.com/gpus; did you mean example.com/gpu?',
    });
  });

  it('gives no limits for a plugin that has spent none, and refuses a name that nobody has', () => {
    const { service } = broker();
    assert.deepEqual(outcome(service.limits('disk.example.com')), []);
    assert.deepEqual(outcome(service.limits('example.com/gpu')), [limitView()]);
    const unknown = service.limits('who');
    assert.equal(unknown.ok ? 'ok' : unknown.problem.code, 'NOT_FOUND');
  });

  it('gives only the events of the plugin that is asked for', async () => {
    const { port, service } = broker();
    port.eventList = [
      brokerEvent(),
      brokerEvent({ seq: 2, plugin: 'CSIPlugin/disk.example.com' }),
      brokerEvent({ seq: 3, plugin: '' }),
    ];
    const seen: number[] = [];
    for await (const { seq } of service.events({ since: 0, follow: false, plugin: 'disk.example.com' }, never)) {
      seen.push(seq);
    }
    assert.deepEqual(seen, [2]);
  });

  it('explains a plugin that was only ever refused', async () => {
    const { port, service } = broker();
    port.eventList = [brokerEvent({ type: 'refused', reason: 'NAME_INVALID', plugin: 'DevicePlugin/bad name' })];
    const given = await service.explain('bad name', '');
    assert.equal(given.ok ? given.value.state : given.problem.message, 'rejected');
  });

  it('explains, and tells the events of one, without looking at what is kept of all others', async () => {
    const { port, service } = broker();
    port.eventList = [brokerEvent(), brokerEvent({ seq: 2, plugin: 'CSIPlugin/disk.example.com' })];
    port.events = () => assert.fail('all events are asked for');
    const views = port.plugins.bind(port);
    port.plugins = (only) => views(only ?? assert.fail('all views are asked for'));
    for (const subject of ['example.com/gpu', pluginView().socket]) {
      const given = await service.explain(subject, '');
      assert.equal(given.ok ? given.value.plugins[0]?.name : given.problem.message, 'example.com/gpu');
    }
    assert.equal((await service.explain('nobody', '')).ok, false);
    const seen = [];
    for await (const { seq } of service.events({ since: 0, follow: false, plugin: 'example.com/gpu' }, never))
      seen.push(seq);
    assert.deepEqual(seen, [1]);
  });

  it('explains a socket by its path', async () => {
    const given = await broker().service.explain(pluginView().socket, '');
    assert.equal(given.ok ? given.value.plugins[0]?.name : given.problem.message, 'example.com/gpu');
  });

  it('says that nothing was seen at an unknown path', async () => {
    const given = await broker().service.explain('/nowhere.sock', '');
    assert.match(given.ok ? '' : given.problem.message, /^nothing was ever seen at \/nowhere\.sock; /);
  });

  it('pardons a plugin that has nothing but strikes', async () => {
    const { port, service } = broker();
    port.limitList = [limitView({ plugin: 'DevicePlugin/ghost.io/x' })];
    assert.equal(
      outcome(await service.pardon('ghost.io/x', '')),
      'DevicePlugin/ghost.io/x is pardoned and may register again',
    );
    assert.deepEqual(port.done, ['pardon DevicePlugin ghost.io/x']);
  });

  it('says so when a pardon had nothing to lift', async () => {
    const { port, service } = broker();
    port.touched = 0;
    assert.equal(
      outcome(await service.pardon('example.com/gpu', '')),
      'DevicePlugin/example.com/gpu had no strikes and no quarantine',
    );
  });

  it('says of each order that is carried out when the disk has not taken it', async () => {
    const { port, service } = broker();
    const [gpu, disk] = ['example.com/gpu', 'disk.example.com'];
    const orders = [
      () => service.pardon(gpu, ''),
      () => service.deregister(gpu, ''),
      () => service.forget(disk, ''),
      () => service.resetLedger(),
    ];
    for (const mayWrite of [true, false]) {
      port.mayWrite = mayWrite;
      const said = [];
      for (const order of orders)
        said.push(/; that could not be written to the disk/.test(String(outcome(await order()))));
      assert.deepEqual(said, [!mayWrite, !mayWrite, !mayWrite, !mayWrite]);
    }
  });

  it('deregisters exactly the plugin that is meant', async () => {
    const { port, service } = broker();
    await service.deregister('disk.example.com', 'CSIPlugin');
    assert.deepEqual(port.done, ['deregister CSIPlugin disk.example.com']);
  });

  it('does nothing to a plugin that it cannot tell from another', async () => {
    const { port, service } = broker();
    port.pluginList.push(pluginView({ name: 'disk.example.com', type: 'DRAPlugin' }));
    const given = await service.deregister('disk.example.com', '');
    assert.equal(given.ok ? 'ok' : given.problem.code, 'INVALID_ARGUMENT');
    assert.deepEqual(port.done, []);
  });

  it('names the owners of devices in explain', async () => {
    const { port, service } = broker();
    port.pluginList = [pluginView()];
    port.taken.set('g0', { lease: '01k', owner: 'systemd/train.service', kind: 'process', uid: 4001 });
    const pod = { lease: '', owner: 'default/p/c', kind: 'pod', uid: undefined } as const;
    port.taken.set('g1', pod).set('g2 is root', pod);
    const given = await service.explain('example.com/gpu', '');
    assert.match(
      given.ok ? given.value.why : '',
      /systemd\/train\.service \(uid 4001, lease 01k\) has g0, default\/p\/c has g1 "g2 is root"\./,
    );
  });

  for (const verb of ['deregister', 'forget'] as const)
    it(`does not ${verb} a plugin whose devices are in use, also one whose resource has gone, unless it is forced`, async () => {
      const { port, service } = broker();
      port.pluginList = [pluginView({ state: 'held' })];
      port.resourceList = [];
      port.taken.set('g0', { lease: 'l', owner: 'key/a', kind: 'key', uid: 4001 });
      port.taken.set('g1', { lease: '', owner: 'default/p/c', kind: 'pod', uid: undefined });
      const given = await service[verb]('example.com/gpu', '');
      assert.match(
        given.ok ? 'ok' : given.problem.message,
        /2 devices of example\.com\/gpu are in use; release them .*, or say --force: their owners keep them/,
      );
      port.taken.delete('g1');
      const one = await service[verb]('example.com/gpu', '');
      assert.match(one.ok ? 'ok' : one.problem.message, /^1 device of example\.com\/gpu is in use; /);
      assert.deepEqual(port.done, []);
      assert.equal((await service[verb]('example.com/gpu', '', true)).ok, true);
      assert.deepEqual(port.done, [`${verb} DevicePlugin example.com/gpu`]);
    });

  for (const state of ['held', 'gone', 'rejected'])
    it(`forgets a plugin that is ${state}`, async () => {
      const { port, service } = broker();
      port.pluginList = [pluginView({ state })];
      assert.equal(
        outcome(await service.forget('example.com/gpu', '')),
        `DevicePlugin/example.com/gpu is forgotten: ${state} at /run/pb/device-plugins/gpu.sock, and its resource with 2 devices`,
      );
    });

  for (const state of ['ready', 'restored', 'connecting', 'quarantined', 'orphaned'])
    it(`does not forget a plugin that is ${state}`, async () => {
      const { port, service } = broker();
      port.pluginList = [pluginView({ state })];
      const given = await service.forget('example.com/gpu', '');
      assert.equal(given.ok ? 'ok' : given.problem.code, 'FAILED_PRECONDITION');
      assert.deepEqual(port.done, []);
    });
});
