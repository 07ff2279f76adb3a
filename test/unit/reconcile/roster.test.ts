import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLive, type RosterListener } from '../../../src/model/instance.js';
import type { FakeSocket } from '../../support/fake-sockets.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

const X = 'example.com/x';

describe('the roster', () => {
  it('holds the sockets of a record that counts, and none of a dead one', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    assert.equal(world.sockets.openPins, 1);
    world.reports.report(world.idOf(socket), { state: 'held', reason: 'not-answering', message: 'frozen' });
    assert.equal(world.sockets.openPins, 1, 'a plugin that may come back keeps its inode');
    world.reports.report(world.idOf(socket), { state: 'gone', reason: 'grace-over', message: 'over' });
    assert.equal(world.sockets.openPins, 0);
    await world.register(socket);
    assert.equal(world.sockets.openPins, 1);
    for (const instance of [...world.roster.all()]) world.roster.remove(instance);
    assert.equal(world.sockets.openPins, 0);
  });

  it('holds one descriptor however often a living plugin registers', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    for (let at = 0; at < 100; at += 1) {
      await world.register(socket);
      if (at % 3 === 0) world.lose(socket, { reason: 'not-answering' });
    }
    assert.equal(world.sockets.openPins, 1);
  });

  it('lets dead reports change nothing', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const id = world.idOf(socket);
    world.roster.report(id, { state: 'gone', reason: 'goodbye', message: 'left' });
    const changes = world.changes.length;
    world.roster.report(id, { state: 'ready', reason: 'registered', message: 'a late word' });
    world.roster.report('nobody', { state: 'ready', reason: 'registered', message: 'a late word' });
    assert.equal(world.changes.length, changes);
    assert.equal(world.stateOf(socket), 'gone goodbye');
  });

  it('tells a change that a listener makes to everybody after the one it follows from, an end and a removal too', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const { roster } = world;
    const id = world.idOf(socket);
    const heard: string[] = [];
    const listener = (name: string): RosterListener => ({
      changed: ({ before, to }) => void heard.push(`${name} ${String(before)} ${to.state}`),
      removed: () => void heard.push(`${name} removed`),
    });
    roster.listeners.follow(
      listener('first'),
      {
        changed: ({ instance, to }) => {
          if (to.state === 'held') roster.report(id, { state: 'gone', reason: 'grace-over', message: 'over' });
          if (to.state === 'gone') roster.remove(instance);
        },
      },
      listener('last'),
    );
    roster.report(id, { state: 'held', reason: 'not-answering', message: 'frozen' });
    assert.deepEqual(heard, [
      ...['first ready held', 'last ready held', 'first held gone', 'last held gone', 'first removed', 'last removed'],
    ]);
  });

  it('tells a repeated report once', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const changes = world.changes.length;
    for (let at = 0; at < 3; at += 1) {
      world.roster.report(world.idOf(socket), { state: 'ready', reason: 'path-missing', message: 'its file vanished' });
    }
    assert.equal(world.changes.length, changes + 1);
  });

  it('keeps a few dead entries of a plugin and a bounded number of all', async () => {
    const world = new ReconcileWorld();
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'no');
    for (let at = 0; at < 10; at += 1) await world.register(world.sockets.put(`/d/${String(at)}`));
    assert.equal(world.roster.ofPlugin('DevicePlugin', X).length, 3);
    for (let at = 0; at < 400; at += 1) {
      await world.register(world.sockets.put(`/d/x${String(at)}`), { name: `example.com/n${String(at)}` });
    }
    assert.equal(world.roster.size, 256);
    assert.equal(world.sockets.openPins, 0);
    assert.equal(world.roster.livePlugins, 0);
  });

  it('keeps the living among many that die', async () => {
    const world = new ReconcileWorld();
    const alive = world.sockets.put('/d/alive');
    await world.register(alive);
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'no');
    for (let at = 0; at < 300; at += 1) await world.register(world.sockets.put(`/d/${String(at)}`));
    assert.equal(world.stateOf(alive), 'ready registered');
    assert.equal(world.roster.primaryOf('DevicePlugin', X)?.id, world.idOf(alive));
    assert.equal(world.roster.livePlugins, 1);
  });

  it('keeps a plugin that may be thawed any time among many that others invent', async () => {
    const world = new ReconcileWorld();
    const frozen = world.sockets.put('/d/frozen');
    await world.register(frozen);
    world.roster.report(world.idOf(frozen), { state: 'held', reason: 'not-answering', message: 'frozen' });
    world.roster.report(world.idOf(frozen), { state: 'gone', reason: 'grace-over', message: 'its grace is over' });
    world.handler.onRegister = () => ReconcileWorld.refuse('OPTIONS_FAILED', 'no');
    for (let at = 0; at < 10; at += 1) await world.register(world.sockets.put(`/d/${String(at)}`));
    for (let at = 0; at < 400; at += 1) {
      await world.register(world.sockets.put(`/d/x${String(at)}`), { name: `example.com/n${String(at)}` });
    }
    assert.equal(world.stateOf(frozen), 'gone grace-over');
    assert.equal(world.roster.size, 256);
  });

  it('keeps a plugin that may be thawed any time among many of another user that had been in, too', async () => {
    const world = new ReconcileWorld();
    const giveUp = async (path: string, uid: number, name: string): Promise<FakeSocket> => {
      const socket = world.sockets.put(path, { uid });
      await world.register(socket, { name });
      socket.listener = undefined;
      for (const [state, reason] of [['held', 'connection-lost'] as const, ['gone', 'grace-over'] as const]) {
        world.roster.report(world.idOf(socket, name), { state, reason, message: 'lost' });
      }
      return socket;
    };
    const frozen = await giveUp('/d/frozen', 4002, X);
    const ofRoot = await giveUp('/d/root', 0, 'example.com/root');
    for (let at = 0; at < 10; at += 1) await giveUp(`/d/${String(at)}`, 4001, X);
    assert.equal(world.roster.ofPlugin('DevicePlugin', X).length, 3);
    assert.equal(world.stateOf(frozen), 'gone grace-over');
    for (let at = 0; at < 400; at += 1) await giveUp(`/d/x${String(at)}`, 4001, `example.com/n${String(at)}`);
    assert.equal(world.roster.size, 256);
    assert.equal(world.stateOf(frozen), 'gone grace-over');
    assert.equal(world.stateOf(ofRoot, 'example.com/root'), 'gone grace-over');
  });

  it('names the newest that is connected as primary, else the newest that may come back', async () => {
    const world = new ReconcileWorld();
    const [a, b] = [world.sockets.put('/d/a'), world.sockets.put('/d/b')];
    await world.register(a);
    await world.register(b);
    const primary = (): string | undefined => world.roster.primaryOf('DevicePlugin', X)?.socketPath;
    assert.equal(primary(), '/d/b');
    world.roster.report(world.idOf(b), { state: 'held', reason: 'not-answering', message: 'frozen' });
    assert.equal(primary(), '/d/a');
    world.roster.report(world.idOf(a), { state: 'held', reason: 'not-answering', message: 'frozen' });
    assert.equal(primary(), '/d/b');
    world.roster.report(world.idOf(a), { state: 'gone', reason: 'goodbye', message: 'left' });
    world.roster.report(world.idOf(b), { state: 'gone', reason: 'goodbye', message: 'left' });
    assert.equal(primary(), undefined);
  });

  it('knows the instance of a socket, for as long as it counts', async () => {
    const world = new ReconcileWorld();
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const claimant = (type: string, name: string): string | undefined =>
      world.roster.claimantsOf(type, socket.key, name)[0]?.name;
    assert.equal(claimant('DevicePlugin', 'example.com/y'), X);
    assert.equal(claimant('DevicePlugin', X), undefined);
    assert.equal(claimant('CSIPlugin', 'example.com/y'), undefined);
    world.roster.report(world.idOf(socket), { state: 'gone', reason: 'goodbye', message: 'left' });
    assert.equal(claimant('DevicePlugin', 'example.com/y'), undefined);
  });

  it('follows an endpoint that is another one the next time', async () => {
    const world = new ReconcileWorld();
    const registration = world.sockets.put('/r/x-reg');
    const first = world.sockets.put('/r/x');
    const pin = world.sockets.open(registration.path);
    assert.ok(pin);
    const over = { door: 'watcher', socket: pin } as const;
    await world.register(first, over);
    const instance = world.of(registration);
    assert.equal(instance?.endpointKey, first.key);
    world.roster.report(instance.id, { state: 'held', reason: 'not-answering', message: 'frozen' });
    const second = world.sockets.put('/r/x');
    await world.register(second, over);
    assert.equal(instance.endpointKey, second.key);
    assert.deepEqual(world.roster.claimantsOf('DevicePlugin', first.key, 'example.com/y'), []);
    assert.deepEqual(world.roster.claimantsOf('DevicePlugin', second.key, 'example.com/y'), [instance]);
    pin.release();
    for (const one of [...world.roster.all()]) world.roster.remove(one);
    assert.equal(world.sockets.openPins, 0);
  });

  it('keeps names like __proto__ apart from what objects have', async () => {
    const world = new ReconcileWorld();
    for (const name of ['__proto__', 'constructor', 'toString']) {
      await world.register(world.sockets.put(`/d/${name}`), { name });
      assert.equal(world.roster.ofPlugin('DevicePlugin', name).filter(isLive).length, 1);
    }
    assert.equal(world.roster.ofPlugin('DevicePlugin', 'hasOwnProperty').length, 0);
    assert.equal(world.roster.livePlugins, 3);
  });
});
