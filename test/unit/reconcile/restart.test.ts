import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreWorld } from '../../support/core-world.js';

describe('after a restart', () => {
  it('serves what the checkpoint knew before anybody is dialled, and confirms everybody in parallel', async () => {
    const world = new CoreWorld();
    const plugins = Array.from({ length: 5 }, (_, at) => world.start(`p${String(at)}`, `example.com/p${String(at)}`));
    for (const one of plugins) world.restore(one);
    assert.deepEqual(
      plugins.map((one) => world.stateOf(one)),
      plugins.map(() => 'restored from-checkpoint'),
    );
    assert.equal(world.core.restart.isSettled, false);
    await world.open();
    assert.deepEqual([world.core.restart.restored, world.core.restart.isSettled], [5, true]);
    for (const one of plugins) assert.equal(world.stateOf(one), 'ready confirmed');
    await world.stop();
  });

  it('is settled at once when there is nothing to confirm', async () => {
    const world = new CoreWorld();
    await world.open();
    assert.equal(world.core.restart.isSettled, true);
    await world.stop();
  });

  it('waits for a silent plugin until the deadline, then holds it', async () => {
    const world = new CoreWorld();
    const silent = world.start('a');
    silent.isFrozen = true;
    world.restore(silent);
    await world.open();
    await world.clock.advance(world.settings.restart.deadlineMs - 1);
    assert.deepEqual([world.core.restart.isSettled, world.of(silent)?.state], [false, 'restored']);
    await world.clock.advance(1);
    assert.deepEqual([world.core.restart.isSettled, world.of(silent)?.state], [true, 'held']);
    silent.isFrozen = false;
    await world.clock.advance(20_000);
    assert.equal(world.stateOf(silent), 'ready confirmed');
    await world.stop();
  });

  for (const { whose, settles } of [
    { whose: 'of an ordinary user for a second', settles: true },
    { whose: "of an ordinary user beside root's until the deadline", settles: false },
  ])
    it(`waits for a silent plugin ${whose}, and holds it at the deadline`, async () => {
      const world = new CoreWorld();
      const silent = world.start('a', 'example.com/a');
      silent.socket.listener = { uid: 4001, pid: undefined };
      silent.isFrozen = true;
      world.restore(silent, { caller: { uid: 4001, gid: 4001, pid: 7, startTime: '1', source: 'peercred' } });
      if (!settles) {
        const roots = world.start('b', 'example.com/b');
        roots.isFrozen = true;
        world.restore(roots);
      }
      await world.open();
      await world.clock.advance(999);
      assert.equal(world.core.restart.isSettled, false);
      await world.clock.advance(1);
      assert.deepEqual([world.core.restart.isSettled, world.of(silent)?.state], [settles, 'restored']);
      await world.clock.advance(world.settings.restart.deadlineMs);
      assert.deepEqual([world.core.restart.isSettled, world.of(silent)?.state], [true, 'held']);
      await world.stop();
    });

  it('holds a plugin that is not there any more at once', async () => {
    const world = new CoreWorld();
    const dead = world.start('a');
    dead.socket.listener = undefined;
    world.restore(dead);
    await world.open();
    assert.deepEqual([world.core.restart.isSettled, world.of(dead)?.state], [true, 'held']);
    await world.clock.advance(world.policy.graceMs);
    assert.equal(world.stateOf(dead), 'gone grace-over');
    await world.stop();
  });

  it('gives a plugin that answered before kubelet.sock was re-created and goes away restart.settle to come back, and then its grace', async () => {
    const world = new CoreWorld();
    const one = world.start('a');
    world.restore(one);
    await world.open();
    await world.list(one, 2);
    await world.kill(one);
    assert.equal(world.stateOf(one), 'restored settling');
    assert.deepEqual(world.counts(), [2, 2]);
    await world.clock.advance(world.settings.restart.settleMs);
    assert.equal(world.of(one)?.state, 'held');
    assert.deepEqual(world.counts(), [2, 0]);
    await world.clock.advance(world.policy.graceMs);
    assert.equal(world.counts(), undefined);
    await world.stop();
  });

  it('takes its successor at the same path for what it is: the new incarnation owns the resource', async () => {
    const world = new CoreWorld();
    const one = world.start('a');
    world.restore(one);
    await world.open();
    await world.list(one, 2);
    await world.kill(one);
    const next = world.start('a');
    await world.register(next);
    assert.deepEqual(world.counts(), [2, 2], 'the old list counts until the new one is there');
    await world.list(next, 3);
    assert.deepEqual(world.counts(), [3, 3]);
    assert.equal(world.stateOf(one), 'gone replaced');
    await world.stop();
  });

  it("calls nobody else's socket at the path of a plugin of the checkpoint: whoever listens there has to call", async () => {
    const world = new CoreWorld();
    const old = world.start('a');
    const stranger = world.start('a');
    old.socket.listener = undefined;
    stranger.socket.listener = { uid: 4001, pid: undefined };
    world.restore(old);
    await world.open();
    await world.clock.advance(world.settings.restart.settleMs + world.policy.graceMs + 600_000);
    assert.deepEqual([world.of(stranger)?.state, stranger.connections.length], [undefined, 0]);
    assert.equal(world.counts(), undefined);
    await world.stop();
  });

  it('calls a plugin that restarted while the broker was away, although it does not call', async () => {
    const world = new CoreWorld();
    const old = world.start('a');
    const next = world.start('a');
    old.socket.listener = undefined;
    world.restore(old);
    await world.open();
    assert.equal(world.of(next)?.state, 'ready');
    await world.list(next, 3);
    assert.deepEqual(world.counts(), [3, 3]);
    await world.stop();
  });

  it('and a Register of the same incarnation at the same moment is one session', async () => {
    const world = new CoreWorld();
    const one = world.start('a');
    world.restore(one);
    await world.core.restart.noteAnswering();
    const registering = world.register(one);
    await world.core.restart.begin();
    await world.clock.settle();
    assert.equal((await registering).ok, true);
    assert.equal(one.connections.filter(({ isClosed }) => !isClosed).length, 1);
    assert.equal(one.connections.flatMap(({ streams }) => streams).length, 1);
    await world.stop();
  });

  it('of another boot allocates nothing until it is confirmed', async () => {
    const world = new CoreWorld();
    const one = world.start('a');
    one.isFrozen = true;
    world.restore(one, { isHint: true });
    world.core.inventory.restore({
      instanceId: world.of(one)?.id ?? '',
      resource: 'example.com/x',
      raw: Buffer.alloc(0),
      sha256: '',
      devices: 2,
      healthy: 2,
    });
    await world.open();
    assert.deepEqual(world.counts(), [2, 0]);
    one.isFrozen = false;
    await world.clock.advance(world.settings.restart.deadlineMs + 20_000);
    assert.deepEqual(world.counts(), [2, 2]);
    await world.stop();
  });

  it('finds the sockets of the registry by themselves', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    world.restore(one);
    await world.open();
    assert.equal(world.stateOf(one), 'ready confirmed');
    assert.deepEqual(one.notified, ['']);
    await world.stop();
  });
});

describe('a plugin of the registry that hangs longer than its grace', () => {
  it('is given up, and taken back when it answers again: its socket was there all the time', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    await world.open();
    await world.list(one, 2);
    one.isFrozen = true;
    await world.clock.advance(world.settings.liveness.intervalMs * 5 + world.policy.graceMs);
    assert.equal(world.of(one)?.state, 'gone');
    one.isFrozen = false;
    await world.clock.advance(world.settings.discovery.retryMaxMs + 30_000);
    await world.list(one, 2);
    assert.equal(world.of(one)?.state, 'ready');
    assert.deepEqual(world.counts(), [2, 2]);
    await world.stop();
  });

  it('and is removed meanwhile is not asked any more', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    await world.open();
    one.isFrozen = true;
    await world.clock.advance(world.settings.liveness.intervalMs * 5 + world.policy.graceMs);
    world.sockets.remove(one.socket.path);
    world.discovery.rescan();
    await world.clock.settle();
    assert.equal(world.core.reconciler.size, 0);
    await world.stop();
    assert.equal(world.sockets.openPins, 0);
  });

  it('a registration socket that is removed while its plugin is asked leaves nothing held', async () => {
    const world = new CoreWorld();
    await world.open();
    const one = world.start('a', 'example.com/x', 'watcher');
    world.discovery.rescan();
    one.isFrozen = true;
    await world.clock.settle();
    world.sockets.remove(one.socket.path);
    world.discovery.rescan();
    await world.clock.settle();
    assert.notEqual(world.of(one)?.state, 'held');
    await world.stop();
    assert.equal(world.sockets.openPins, 0);
  });
});

describe('a plugin of the registry that is gone and quarantined before its restart was noticed', () => {
  it('is held when its quarantine is over, so that its grace runs', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    world.sockets.remove(one.socket.path);
    world.restore(one);
    world.quarantine(one, true);
    await world.open();
    assert.equal(world.of(one)?.state, 'quarantined');
    world.quarantine(one, false);
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'held connection-lost');
    await world.clock.advance(world.policy.graceMs);
    assert.equal(world.stateOf(one), 'gone grace-over');
    await world.stop();
  });
});

describe('a plugin of the registry whose socket was replaced', () => {
  it('is not waited for at a start that knows its successor', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    const newcomer = world.start('a', 'example.com/x', 'watcher');
    newcomer.isFrozen = true;
    world.restore(one);
    world.restore(newcomer);
    await world.open();
    assert.deepEqual([world.of(one)?.state, world.of(newcomer)?.state], ['held', 'restored']);
    assert.equal(world.of(one)?.reason, 'socket-removed');
    await world.clock.advance(world.policy.graceMs);
    assert.equal(world.stateOf(one), 'gone grace-over');
    await world.stop();
  });

  it('is held when the newcomer goes without having answered, and gone after its grace', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    await world.open();
    await world.list(one, 4);
    const newcomer = world.start('a', 'example.com/x', 'watcher');
    newcomer.isFrozen = true;
    world.discovery.rescan();
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'orphaned path-taken');
    world.sockets.remove(newcomer.socket.path);
    world.discovery.rescan();
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'held socket-removed');
    assert.deepEqual(world.counts(), [4, 0]);
    await world.clock.advance(world.policy.graceMs);
    assert.equal(world.counts(), undefined);
    await world.stop();
  });

  it('by another name of a socket that is known already is held at once: nobody is asked again', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    const other = world.start('b', 'example.com/y', 'watcher');
    await world.open();
    await world.list(one, 4);
    world.sockets.link(one.socket.path, other.socket);
    world.discovery.rescan();
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'held socket-removed');
    await world.stop();
  });
});
