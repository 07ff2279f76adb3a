import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import { Claims } from '../../../src/reconcile/claims.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

const X = 'example.com/x';
const ownerOf = (world: ReconcileWorld, except?: string) =>
  new Claims(world.roster, { isDeregistered: () => false }).owner(DEVICE_PLUGIN, X, except);

describe('whose a name is', () => {
  it('is the uid of the instance that has it, also while that is held, and nobody once it is gone', async () => {
    const world = new ReconcileWorld();
    assert.equal(ownerOf(world), undefined);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    assert.deepEqual(ownerOf(world), { uid: 0, endpointPath: '/d/a', isHeld: false });
    world.lose(socket, { reason: 'not-answering' });
    assert.equal(ownerOf(world)?.isHeld, true);
    world.lifecycle.report(world.idOf(socket), { state: 'gone', reason: 'grace-over', message: 'over' });
    assert.equal(ownerOf(world), undefined);
  });

  it('is nobody when only a hint of another boot has it, or only the socket that is not meant', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const [instance] = world.roster.ofPlugin(DEVICE_PLUGIN, X);
    assert.ok(instance);
    assert.equal(ownerOf(world, instance.socketKey), undefined);
    instance.isHint = true;
    assert.equal(ownerOf(world), undefined);
  });
});
