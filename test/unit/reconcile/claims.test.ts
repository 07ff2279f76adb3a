import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEVICE_PLUGIN } from '../../../src/model/ids.js';
import type { PinnedSocket } from '../../../src/model/plugin.js';
import { Claims, refusedUser } from '../../../src/reconcile/claims.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

const X = 'example.com/x';
const ownerOf = (world: ReconcileWorld, except?: string) =>
  new Claims(world.roster, { isDeregistered: () => false }, (uid) => uid).owner(DEVICE_PLUGIN, X, except);

describe('how many plugins a user has', () => {
  it('counts those of all uids of its range as its own', async () => {
    const world = new ReconcileWorld();
    for (const uid of [100_000, 100_001, 4001, 4002]) {
      const socket = world.sockets.put(`/d/${String(uid)}`);
      await world.register(socket, { name: `example.com/n${String(uid)}` });
    }
    const claims = new Claims(world.roster, { isDeregistered: () => false }, (uid) => (uid >= 100_000 ? 4001 : uid));
    for (const instance of world.roster.all()) {
      const uid = Number(instance.endpointPath.slice(3));
      Object.assign(instance, { listener: { uid, gid: uid, pid: 1, startTime: '1', source: 'peercred' } });
    }
    for (const uid of [4001, 100_000, 100_500])
      assert.deepEqual(claims.livePluginsOf(uid, 0), { own: 3, strangers: 4 });
    assert.deepEqual(claims.livePluginsOf(4002, 0), { own: 1, strangers: 4 });
  });
});

describe('the user of a refused registration', () => {
  it('is the caller, or the owner of the socket where nobody called', () => {
    const found = new ReconcileWorld().sockets.put('/r/x', { uid: 4001 });
    const socket: PinnedSocket = { ...found, dialPath: '/r/x', retain: () => socket, release: () => undefined };
    assert.deepEqual(refusedUser({ socket }, []), { uid: 4001 });
    assert.deepEqual(
      refusedUser({ caller: { uid: 7, gid: 7, pid: 1, startTime: '1', source: 'peercred' }, socket }, []),
      {
        uid: 7,
      },
    );
  });
});

describe('the owner of a name', () => {
  it('is the uid of the instance that has it, also while that is held, and nobody once it is gone', async () => {
    const world = new ReconcileWorld();
    assert.equal(ownerOf(world), undefined);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    assert.deepEqual(ownerOf(world), { uid: 0, endpointPath: '/d/a', isHeld: false });
    world.lose(socket, { reason: 'not-answering' });
    assert.equal(ownerOf(world)?.isHeld, true);
    world.reports.report(world.idOf(socket), { state: 'gone', reason: 'grace-over', message: 'over' });
    assert.equal(ownerOf(world), undefined);
  });

  it('has it for good only while it serves: a newcomer is not told that it is refused for ever before that', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const [instance] = world.roster.ofPlugin(DEVICE_PLUGIN, X);
    assert.ok(instance);
    const isHeld = (door: 'register' | 'watcher') =>
      (['ready', 'orphaned', 'held', 'restored', 'quarantined', 'connecting'] as const).filter((state) => {
        Object.assign(instance, { state, door });
        return ownerOf(world)?.isHeld;
      });
    assert.deepEqual(isHeld('register'), ['held', 'restored', 'quarantined', 'connecting']);
    assert.deepEqual(isHeld('watcher'), ['orphaned', 'held', 'restored', 'quarantined', 'connecting']);
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
