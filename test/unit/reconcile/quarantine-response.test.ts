import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Quarantine } from '../../../src/model/flood.js';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import { QuarantineResponse } from '../../../src/reconcile/quarantine-response.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

describe('quarantines of two users in one name', () => {
  it('end each with a pull of its own, of which none drops the other', async () => {
    const world = new ReconcileWorld();
    const response = new QuarantineResponse(world);
    const ended = (uid: number, endpoint: string): void => {
      const last = { door: 'register', endpoint, versions: ['v1beta1'], socket: endpoint } as const;
      response.quarantineEnded({
        type: DEVICE_PLUGIN,
        name: 'example.com/x',
        uid,
        offenders: [],
        last,
      } as unknown as Quarantine);
    };
    // Root's plugin answers only a while after its quarantine is over: its pull sleeps until it is tried again.
    const root = world.sockets.put('/d/root');
    world.handler.onRegister = () => ReconcileWorld.refuse('NO_ANSWER', 'silent');
    ended(0, '/d/root');
    await world.clock.settle();
    ended(4001, '/d/nothing');
    await world.clock.settle();
    world.handler.onRegister = () => undefined;
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(root), 'ready registered');
  });
});
