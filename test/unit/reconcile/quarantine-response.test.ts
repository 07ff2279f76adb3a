import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Quarantine } from '../../../src/model/flood.js';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import { QuarantineResponse } from '../../../src/reconcile/quarantine-response.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

/** The end of a quarantine of a user in a name, whose plugin had named an endpoint. */
function over(uid: number, endpoint: string, name = 'example.com/x'): Quarantine {
  const plugin = { type: DEVICE_PLUGIN, name, uid };
  const last = { ...plugin, door: 'register', endpoint, versions: ['v1beta1'], socket: endpoint } as const;
  const subject = { ...last, caller: undefined, pulled: false, badName: false };
  return { ...plugin, lengthMs: 0, offenders: [], last: subject };
}

describe('quarantines of two users in one name', () => {
  it('end each with a pull of its own, of which none drops the other', async () => {
    const world = new ReconcileWorld();
    const response = new QuarantineResponse(world);
    // Root's plugin answers only a while after its quarantine is over: its pull sleeps until it is tried again.
    const root = world.sockets.put('/d/root');
    world.handler.onRegister = () => ReconcileWorld.refuse('NO_ANSWER', 'silent');
    response.quarantineEnded(over(0, '/d/root'));
    await world.clock.settle();
    response.quarantineEnded(over(4001, '/d/nothing'));
    await world.clock.settle();
    world.handler.onRegister = () => undefined;
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(root), 'ready registered');
  });
});

describe('a pull after a quarantine', () => {
  it('ends with the first answer of a plugin that was never let in, and goes on while it is silent or told to wait', async () => {
    for (const [code, isAsked] of [
      ['OPTIONS_FAILED', false],
      ['NO_ANSWER', true],
      ['BUSY', true],
    ] as const) {
      const world = new ReconcileWorld();
      world.sockets.put('/d/a', { uid: 4001 });
      world.handler.onRegister = () => ReconcileWorld.refuse(code, 'no');
      new QuarantineResponse(world).quarantineEnded(over(4001, '/d/a'));
      await world.clock.advance(60_000);
      assert.equal(world.reconciler.size, isAsked ? 1 : 0, code);
    }
  });

  it('goes on, whatever it answers, where the plugin was let in before', async () => {
    const world = new ReconcileWorld();
    const before = world.sockets.put('/d/a');
    await world.register(before);
    world.kill(before);
    const next = world.sockets.put('/d/next');
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'not yet');
    new QuarantineResponse(world).quarantineEnded(over(0, '/d/next'));
    await world.clock.advance(60_000);
    world.handler.onRegister = () => undefined;
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(next), 'ready registered');
  });

  it('is one of 16 of an ordinary user, whose oldest gives way; root has as many as it needs', async () => {
    const world = new ReconcileWorld();
    const response = new QuarantineResponse(world);
    world.handler.onRegister = () => ReconcileWorld.refuse('NO_ANSWER', 'silent');
    const nameOf = (uid: number, at: number): string => `example.com/${String(uid)}-${String(at)}`;
    const put = (uid: number) =>
      Array.from({ length: 20 }, (_, at) => {
        const name = nameOf(uid, at);
        const socket = world.sockets.put(`/d/${String(uid)}/${name}`, { uid });
        response.quarantineEnded(over(uid, socket.path, name));
        return socket;
      });
    const mine = put(4001);
    // Once more in the same name, as it is and with another endpoint: that is no pull more.
    response.quarantineEnded(over(4001, mine.at(-1)?.path ?? '', nameOf(4001, 19)));
    response.quarantineEnded(over(4001, '/d/other', nameOf(4001, 18)));
    await world.clock.settle();
    assert.equal(world.reconciler.size, 15, 'nobody is at the other endpoint, which ends its pull');
    put(4002);
    put(0);
    assert.equal(world.reconciler.size, 15 + 16 + 20);
    world.handler.onRegister = () => undefined;
    await world.clock.advance(60_000);
    const isIn = mine.map((socket, at) => world.of(socket, nameOf(4001, at))?.state === 'ready');
    assert.deepEqual([isIn.indexOf(true), isIn.lastIndexOf(true)], [4, 19]);
    assert.equal(world.reconciler.size, 0);
  });
});
