import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { chooseService, DraHandler } from '../../../src/dra/dra-handler.js';
import type { Accepted } from '../../../src/model/plugin.js';
import type { ServiceListener } from '../../../src/model/service-listener.js';
import { FakeClock } from '../../support/fake-clock.js';
import { enrolment, FakeHandle } from '../csi/fakes.js';

const NAME = 'gpu.example.com';

describe('the service rule of DRA drivers', () => {
  const cases: [offered: string[], chosen: string | undefined][] = [
    [['v1.DRAPlugin'], 'v1.DRAPlugin'],
    [['v1beta1.DRAPlugin'], 'v1beta1.DRAPlugin'],
    [['v1.DRAPlugin', 'v1beta1.DRAPlugin', 'v1alpha1.DRAResourceHealth'], 'v1.DRAPlugin'],
    [['v1beta1.DRAPlugin', 'v1.DRAPlugin'], 'v1.DRAPlugin'],
    [[], undefined],
    [['1.0.0'], undefined],
    [['v1alpha3.NodeService'], undefined],
    [['v1alpha1.DRAResourceHealth'], undefined],
  ];
  for (const [offered, chosen] of cases) {
    it(`takes ${String(chosen)} of ${JSON.stringify(offered)}`, () => assert.equal(chooseService(offered), chosen));
  }
});

describe('the DRA handler', () => {
  let clock: FakeClock;
  let handler: DraHandler;
  let listeners: ServiceListener[];
  let open: number;
  let renamedTo: string[];

  beforeEach(() => {
    clock = new FakeClock();
    listeners = [];
    open = 0;
    renamedTo = [];
    handler = new DraHandler({
      clock,
      openConnection: (_endpoint, listener) => {
        listeners.push(listener);
        open += 1;
        let isOpen = true;
        return {
          renamed: (path) => void renamedTo.push(path),
          close: () => {
            if (isOpen) open -= 1;
            isOpen = false;
          },
        };
      },
    });
  });

  async function register(
    id: string,
    services = ['v1.DRAPlugin'],
  ): Promise<{ handle: FakeHandle; accepted: Accepted }> {
    const handle = new FakeHandle(id);
    const accepted = await handler.register(enrolment('DRAPlugin', NAME, services), handle);
    await clock.advance(1);
    return { handle, accepted };
  }

  it('tells the connection of an endpoint by which path it is found', async () => {
    await register('i1');
    handler.renamed('i1', '/r/b');
    handler.renamed('i2', '/r/c');
    assert.deepEqual(renamedTo, ['/r/b']);
  });

  it('refuses an empty list and lists without a supported service', () => {
    assert.equal(handler.validate(NAME, ['v1.DRAPlugin', 'v1alpha1.DRAResourceHealth']), undefined);
    assert.equal(handler.validate(NAME, [])?.code, 'VERSION_UNSUPPORTED');
    assert.equal(
      handler.validate(NAME, ['1.0.0'])?.message,
      `DRA driver ${NAME}: offered services ["1.0.0"] are not supported; supported services are [v1.DRAPlugin, v1beta1.DRAPlugin]`,
    );
    assert.equal(handler.validate('a/b', ['v1.DRAPlugin'])?.code, 'NAME_INVALID');
  });

  it('registers without the service being up, and records the chosen service', async () => {
    const { handle, accepted } = await register('i1', ['v1beta1.DRAPlugin', 'v1alpha1.DRAResourceHealth']);
    assert.deepEqual(accepted, { version: 'v1beta1.DRAPlugin', facts: {} });
    assert.equal(handle.served, 1);
    assert.equal(await handler.isAlive('i1'), false);
  });

  it('follows the service connection, and tells each change once', async () => {
    const { handle } = await register('i1');
    const [listener] = listeners;
    listener?.up();
    await clock.advance(1);
    assert.deepEqual(handle.story, []);
    assert.equal(await handler.isAlive('i1'), true);
    listener?.lost('closed');
    listener?.lost('ECONNREFUSED');
    await clock.advance(1);
    assert.deepEqual(handle.story, ['held service-lost']);
    listener?.up();
    await clock.advance(1);
    assert.deepEqual(handle.story, ['held service-lost', 'ready registered']);
  });

  it('keeps several endpoints of one driver, each with a state of its own', async () => {
    const alive = (): Promise<boolean[]> => Promise.all([handler.isAlive('old'), handler.isAlive('new')]);
    await register('old');
    await register('new');
    listeners[0]?.up();
    assert.deepEqual(await alive(), [true, false]);
    listeners[1]?.up();
    assert.deepEqual(await alive(), [true, true]);
    await handler.deregister('new', 'socket-removed');
    assert.deepEqual(await alive(), [true, false]);
  });

  it('lets go once, and hears nothing of the dead', async () => {
    const { handle } = await register('i1');
    listeners[0]?.lost('closed');
    await handler.deregister('i1', 'socket-removed');
    await handler.deregister('i1', 'socket-removed');
    await handler.deregister('unknown', 'socket-removed');
    await clock.advance(1);
    assert.deepEqual(handle.story, []);
    assert.equal(open, 0);
  });

  it('replaces the connection when the same instance registers again, and closes all at the end', async () => {
    await register('i1');
    await register('i1');
    assert.equal(open, 1);
    handler.stop();
    assert.equal(open, 0);
  });
});
