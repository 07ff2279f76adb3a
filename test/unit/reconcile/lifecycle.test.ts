import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReconcileWorld, FakeHandler } from '../../support/reconcile-world.js';

const GRACE = { graceMs: 30_000 };

describe('a plugin that is lost', () => {
  it('is held for its grace: capacity stays, allocatable is 0, and then it is gone', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket, 4);
    world.kill(socket);
    await world.clock.advance(29_999);
    assert.equal(world.stateOf(socket), 'held connection-lost');
    assert.deepEqual([world.resource()?.capacity, world.resource()?.allocatable], [4, 0]);
    await world.clock.advance(1);
    assert.equal(world.stateOf(socket), 'gone grace-over');
    assert.equal(world.resource(), undefined);
    assert.deepEqual([world.sockets.openPins, world.clock.pending, world.reconciler.size], [0, 0, 0]);
  });

  it('is the only one of which the kernel is asked who listens', async () => {
    const world = new ReconcileWorld(GRACE);
    const [lost, serving] = [world.sockets.put('/d/a'), world.sockets.put('/d/b')];
    for (const [socket, name] of [
      [lost, 'example.com/x'],
      [serving, 'example.com/y'],
    ] as const) {
      await world.register(socket, { name });
      world.list(socket, 4, name);
    }
    assert.deepEqual(world.askedOf, []);
    world.lose(lost);
    assert.deepEqual(world.askedOf, [world.idOf(lost)]);
  });

  it('is held once, however often it is reported lost: its grace does not begin again', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.kill(socket);
    await world.clock.advance(20_000);
    world.reports.report(world.idOf(socket), { state: 'held', reason: 'socket-removed', message: 'removed' });
    await world.clock.advance(10_000);
    assert.equal(world.of(socket)?.state, 'gone');
  });

  it('is pulled while its socket listens, and its list counts again', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket, 4);
    world.lose(socket);
    await world.clock.advance(0);
    world.list(socket, 3);
    assert.equal(world.stateOf(socket), 'ready confirmed');
    assert.equal(world.resource()?.allocatable, 3);
    await world.clock.advance(100_000);
    assert.equal(world.stateOf(socket), 'ready confirmed', 'no grace runs on');
  });

  it('again and again is pulled with growing waits, and at once after it has proved itself', async () => {
    const world = new ReconcileWorld({ graceMs: 3_600_000 });
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    const waits: number[] = [];
    for (let at = 0; at < 9; at += 1) {
      const from = world.clock.mono();
      const registered = world.handler.registered.length;
      world.lose(socket, { reason: 'stream-failed' });
      while (world.handler.registered.length === registered) await world.clock.advance(1);
      waits.push(world.clock.mono() - from);
    }
    assert.deepEqual(waits.slice(0, 4), [1, 500, 1000, 2000]);
    assert.equal(waits.at(-1), 30_000);
    await world.clock.advance(10_000);
    world.lose(socket);
    await world.clock.advance(1);
    assert.equal(world.of(socket)?.state, 'ready');
  });

  it('is not pulled any more once it has registered by itself', async () => {
    const world = new ReconcileWorld({ graceMs: 3_600_000 });
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.lose(socket, { reason: 'stream-failed' });
    await world.clock.advance(1);
    world.lose(socket, { reason: 'stream-failed' });
    assert.equal(world.reconciler.size, 1);
    await world.register(socket);
    assert.equal(world.stateOf(socket), 'ready registered');
    assert.equal(world.reconciler.size, 0);
  });

  it('is pulled at once after it proved itself, although an older pull of it sleeps for long', async () => {
    const world = new ReconcileWorld({ graceMs: 3_600_000 });
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    for (let at = 0; at < 7; at += 1) {
      world.lose(socket, { reason: 'stream-failed' });
      while (at < 6 && world.of(socket)?.state !== 'ready') await world.clock.advance(100);
    }
    await world.clock.advance(1000);
    assert.equal(world.of(socket)?.state, 'held');
    await world.register(socket);
    await world.clock.advance(11_000);
    world.lose(socket);
    await world.clock.advance(1);
    assert.equal(world.stateOf(socket), 'ready confirmed');
  });

  it('by its own fault has to wait ten update intervals', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.lose(socket, { reason: 'update-flood' });
    await world.clock.advance(10 * world.policy.flood.updates.intervalMs - 1);
    assert.equal(world.of(socket)?.state, 'held');
    await world.clock.advance(1);
    assert.equal(world.of(socket)?.state, 'ready');
  });

  it('by its own fault does not end the pause by registering again: that is answered, and counts', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.lose(socket, { reason: 'update-flood' });
    const { registrations } = world.of(socket)?.counters ?? { registrations: NaN };
    for (let call = 1; call <= 3; call++) {
      assert.equal((await world.register(socket)).ok, true);
      assert.equal(world.stateOf(socket), 'held update-flood');
      assert.equal(world.of(socket)?.counters.registrations, registrations + call);
    }
    assert.equal(world.handler.registered.length, 1);
    await world.clock.advance(10 * world.policy.flood.updates.intervalMs);
    assert.equal(world.of(socket)?.state, 'ready');
  });

  it('for good with a goodbye has no grace and is not pulled', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket, 0);
    world.lose(socket, { state: 'gone', reason: 'goodbye' });
    await world.clock.advance(100_000);
    assert.equal(world.stateOf(socket), 'gone goodbye');
    assert.equal(world.handler.registered.length, 1);
    assert.equal(world.resource(), undefined);
  });

  it('and gone is pulled when its process answers again, unless it left or was closed', async () => {
    for (const [reason, comesBack] of [
      ['grace-over', true],
      ['goodbye', false],
      ['deregistered', false],
    ] as const) {
      const world = new ReconcileWorld(GRACE);
      const socket = world.sockets.put('/d/a');
      await world.register(socket);
      world.lose(socket, { state: 'gone', reason });
      world.lifecycle.checkPaths();
      await world.clock.advance(0);
      assert.equal(world.of(socket)?.state, comesBack ? 'ready' : 'gone', reason);
    }
  });

  it('and gone is asked until it answers, however often it is silent, and not where nobody listens or it may not come in', async () => {
    for (const [code, state, isAsked] of [
      ['NO_ANSWER', 'gone grace-over', true],
      ['OPTIONS_FAILED', 'gone grace-over', true],
      ['NO_LISTENER', 'gone grace-over', false],
      ['NAME_DENIED', 'rejected NAME_DENIED', false],
    ] as const) {
      const world = new ReconcileWorld(GRACE);
      const frozen = world.sockets.put('/d/frozen');
      await world.register(frozen);
      world.lose(frozen, { reason: 'not-answering' });
      await world.clock.advance(30_000);
      world.handler.onRegister = () => ReconcileWorld.refuse(code, 'no');
      world.lifecycle.checkPaths();
      await world.clock.advance(90_000);
      assert.equal(world.stateOf(frozen), state, code);
      assert.equal(world.sockets.openPins, 0, code);
      world.handler.onRegister = () => undefined;
      await world.clock.advance(30_000);
      assert.equal(world.stateOf(frozen), isAsked ? 'ready confirmed' : state, code);
      assert.equal(world.reconciler.size, 0, code);
    }
  });

  it('and gone before it was ever let in is asked once more, and is out with a refusal', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    world.handler.onRegister = (_, handle) => {
      handle.report({ state: 'held', reason: 'not-answering', message: 'silent' });
      return ReconcileWorld.refuse('NO_ANSWER', 'silent');
    };
    await world.register(socket);
    world.handler.onRegister = () => ReconcileWorld.refuse('NO_ANSWER', 'silent');
    await world.clock.advance(30_000);
    world.lifecycle.checkPaths();
    await world.clock.advance(90_000);
    assert.equal(world.stateOf(socket), 'rejected NO_ANSWER');
    assert.equal(world.reconciler.size, 0);
  });

  it('and thawed after a newcomer took its name does not take it back', async () => {
    const world = new ReconcileWorld(GRACE);
    const [frozen, newcomer] = [world.sockets.put('/d/frozen'), world.sockets.put('/d/new')];
    await world.register(frozen);
    world.list(frozen, 1);
    world.lose(frozen, { reason: 'not-answering' });
    await world.clock.advance(30_000);
    assert.equal(world.stateOf(frozen), 'gone grace-over');
    await world.register(newcomer);
    world.list(newcomer, 2);
    world.lifecycle.checkPaths();
    await world.clock.advance(0);
    world.list(frozen, 1);
    assert.equal(world.stateOf(newcomer), 'ready registered');
    assert.equal(world.stateOf(frozen), 'held replaced');
    assert.equal(world.resource()?.allocatable, 2);
  });
});

describe('a restart of the broker', () => {
  it('calls the loss of a plugin that answered before kubelet.sock was re-created settling, and it stays allocatable', async () => {
    const world = new ReconcileWorld({
      ...GRACE,
      lossOf: () => ({ state: 'restored', reason: 'settling', message: 'it restarts itself' }),
    });
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket, 2);
    world.kill(socket);
    assert.equal(world.stateOf(socket), 'restored settling');
    assert.equal(world.resource()?.allocatable, 2);
    await world.clock.advance(60_000);
    assert.equal(world.stateOf(socket), 'restored settling', 'no grace runs: restart.settle ends it');
  });
});

describe('a newcomer', () => {
  it('is waited for: the old session ends with its first list', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    await world.register(old);
    world.list(old, 4);
    await world.register(young);
    assert.deepEqual(world.handler.deregistered, []);
    assert.equal(world.resource()?.owner.id, world.idOf(old));
    world.list(young, 5);
    assert.deepEqual(world.handler.deregistered, [[world.idOf(old), 'replaced']]);
    assert.equal(world.stateOf(old), 'held replaced');
    assert.equal(world.resource()?.allocatable, 5);
    assert.deepEqual([...world.holdings.keys()], [world.idOf(young)], 'its list is not kept');
  });

  it('whose predecessor does not listen any more has no fallback', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    await world.register(old);
    world.list(old);
    await world.register(young);
    old.listener = undefined;
    world.list(young);
    assert.equal(world.stateOf(old), 'gone replaced');
  });

  it('that is lost gives way to its predecessor, which is pulled through admission', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    for (const socket of [old, young]) {
      await world.register(socket);
      world.list(socket, socket === old ? 1 : 2);
    }
    world.kill(young);
    await world.clock.advance(0);
    world.list(old, 1);
    assert.equal(world.stateOf(old), 'ready confirmed');
    assert.deepEqual([world.resource()?.capacity, world.resource()?.allocatable], [1, 1]);
  });

  it('that is only cut off has two seconds before its predecessor is asked', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    for (const socket of [old, young]) {
      await world.register(socket);
      world.list(socket, 2);
    }
    world.lose(young);
    await world.clock.advance(0);
    world.list(young, 2);
    await world.clock.advance(10_000);
    assert.equal(world.stateOf(young), 'ready confirmed');
    assert.equal(world.stateOf(old), 'held replaced');
  });

  it('that comes back takes over again from its fallback', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    for (const socket of [old, young]) {
      await world.register(socket);
      world.list(socket, socket === old ? 1 : 2);
    }
    world.lose(young, { reason: 'not-answering' });
    await world.clock.advance(2000);
    world.list(old, 1);
    assert.equal(world.resource()?.allocatable, 1);
    await world.register(young);
    world.list(young, 2);
    assert.equal(world.resource()?.allocatable, 2);
    assert.equal(world.stateOf(old), 'held replaced');
  });

  it('in quarantine gives way at once', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    for (const socket of [old, young]) {
      await world.register(socket);
      world.list(socket);
    }
    world.lose(young, { state: 'quarantined', reason: 'quarantine' });
    await world.clock.advance(0);
    assert.equal(world.of(old)?.state, 'ready');
  });

  it('keeps two predecessors at most as fallback', async () => {
    const world = new ReconcileWorld(GRACE);
    for (let at = 0; at < 8; at += 1) {
      const socket = world.sockets.put(`/d/${String(at)}`);
      await world.register(socket);
      world.list(socket);
    }
    const states = world.roster.ofPlugin('DevicePlugin', 'example.com/x').map(({ state }) => state);
    assert.deepEqual(states, ['ready', 'held', 'held', 'gone', 'gone', 'gone']);
    assert.equal(world.sockets.openPins, 3);
  });

  it('that never sends a list is one of few: the oldest of them are let go', async () => {
    const world = new ReconcileWorld(GRACE);
    const served = world.sockets.put('/d/served');
    await world.register(served);
    world.list(served);
    for (let at = 0; at < 50; at += 1) await world.register(world.sockets.put(`/d/${String(at)}`));
    assert.equal(world.stateOf(served), 'ready registered', 'the instance that serves is not one of them');
    assert.ok(world.handler.sessions.size <= 5, `${String(world.handler.sessions.size)} sessions are open`);
    assert.ok(world.sockets.openPins <= 7);
  });

  it('beside an endpoint that coexists takes nothing from it', async () => {
    const world = new ReconcileWorld({ handler: new FakeHandler('DRAPlugin', true) });
    for (let at = 0; at < 8; at += 1) {
      const socket = world.sockets.put(`/p/${String(at)}`);
      await world.register(socket);
      world.list(socket);
    }
    assert.equal(world.handler.sessions.size, 8);
  });
});

describe('looking at paths', () => {
  it('tells a vanished file, a path that was taken, and one that is back', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket);
    world.sockets.remove('/d/a');
    world.lifecycle.checkPaths();
    assert.equal(world.stateOf(socket), 'ready path-missing');
    world.sockets.put('/d/a');
    world.lifecycle.checkPaths();
    assert.equal(world.stateOf(socket), 'orphaned path-taken');
    assert.equal(world.resource()?.allocatable, 2, 'it is connected and reports');
    world.sockets.link('/d/a', socket);
    world.lifecycle.checkPaths();
    assert.equal(world.stateOf(socket), 'ready registered');
  });

  it('a report of a session does not hide that the path is lost, and a path that is back is seen at once', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket);
    const states: string[] = [];
    world.roster.listeners.follow({ changed: () => void states.push(world.stateOf(socket)) });
    const say = (reason: 'list-refused' | 'registered'): void =>
      world.reports.report(world.idOf(socket), { state: 'ready', reason, message: 'said the session' });
    world.sockets.remove('/d/a');
    world.lifecycle.checkPaths();
    say('list-refused');
    say('registered');
    world.sockets.put('/d/a');
    world.lifecycle.checkPaths();
    say('list-refused');
    say('registered');
    assert.deepEqual(states, ['ready path-missing', 'orphaned path-taken']);
    world.sockets.link('/d/a', socket);
    say('list-refused');
    assert.equal(states.at(-1), 'ready list-refused');
  });

  it('one that did not answer while its path was taken is orphaned as soon as it answers', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.list(socket);
    const id = world.idOf(socket);
    world.reports.report(id, { state: 'held', reason: 'not-answering', message: 'silent' });
    world.sockets.put('/d/a');
    world.reports.report(id, { state: 'ready', reason: 'registered', message: 'serves' });
    assert.equal(world.stateOf(socket), 'orphaned path-taken');
  });

  it('a plugin of the watcher door stays orphaned until its newcomer was asked', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket, { door: 'watcher' });
    world.list(socket);
    const id = world.idOf(socket);
    world.sockets.put('/d/a');
    world.reports.report(id, { state: 'orphaned', reason: 'path-taken', message: 'the newcomer is being asked' });
    world.reports.report(id, { state: 'ready', reason: 'list-refused', message: 'said the session' });
    world.sockets.remove('/d/a');
    world.reports.report(id, { state: 'ready', reason: 'registered', message: 'said the session' });
    assert.equal(world.stateOf(socket), 'orphaned path-taken');
    assert.equal(world.of(socket)?.message, 'the newcomer is being asked');
  });

  it('leaves a plugin alone whose socket the broker moved aside', async () => {
    const world = new ReconcileWorld(GRACE);
    const socket = world.sockets.put('/d/a');
    await world.register(socket);
    world.handler.sessions.get(world.idOf(socket))?.report({ state: 'ready', reason: 'recycled', message: 'moved' });
    world.sockets.remove('/d/a');
    world.lifecycle.checkPaths();
    assert.equal(world.stateOf(socket), 'ready recycled');
  });

  it('ends a fallback that does not listen any more', async () => {
    const world = new ReconcileWorld(GRACE);
    const [old, young] = [world.sockets.put('/d/old'), world.sockets.put('/d/young')];
    for (const socket of [old, young]) {
      await world.register(socket);
      world.list(socket);
    }
    old.listener = undefined;
    world.lifecycle.checkPaths();
    assert.equal(world.stateOf(old), 'gone replaced');
    assert.equal(world.sockets.openPins, 1);
  });
});

describe('a broker that stops', () => {
  it('leaves no clock and no pending, and hears nothing any more', async () => {
    const world = new ReconcileWorld(GRACE);
    const [a, b] = [world.sockets.put('/d/a'), world.sockets.put('/d/b')];
    await world.register(a);
    await world.register(b, { name: 'example.com/y' });
    world.lose(a, { reason: 'not-answering' });
    world.reconciler.stop();
    await world.lifecycle.stop();
    world.lose(b, {}, 'example.com/y');
    await world.clock.advance(100_000);
    assert.equal(world.stateOf(a), 'held not-answering');
    assert.equal(world.stateOf(b, 'example.com/y'), 'ready registered');
    assert.deepEqual([world.clock.pending, world.reconciler.size], [0, 0]);
  });
});
