import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RestartSettings } from '../../../src/model/settings.js';
import { mayAskFor } from '../../../src/reconcile/settling.js';
import { CoreWorld, type FakeProcess } from '../../support/core-world.js';

const SETTLE_MS = 30_000;

/** A plugin of the checkpoint that answered, was confirmed and has two devices. */
async function confirmed(world: CoreWorld): Promise<FakeProcess> {
  const one = world.start('a');
  world.restore(one);
  await world.open();
  await world.list(one, 2);
  return one;
}

function settle(world: CoreWorld, settleMs: number): void {
  Object.assign<RestartSettings, Partial<RestartSettings>>(world.settings.restart, { settleMs });
}

describe('restart.settle', () => {
  it('of 0s gives nobody time, and readiness waits for nobody', async () => {
    const world = new CoreWorld();
    settle(world, 0);
    const one = await confirmed(world);
    assert.deepEqual([world.core.restart.isSettled, world.stateOf(one)], [true, 'ready confirmed']);
    assert.deepEqual(world.settled, [{ confirmed: 1, settling: 0, total: 1 }]);
    await world.kill(one);
    assert.equal(world.stateOf(one), 'held connection-lost');
    await world.stop();
  });

  it('that is over ends no plugin that is still being confirmed', async () => {
    const world = new CoreWorld();
    settle(world, 1000);
    const frozen = world.start('a');
    frozen.isFrozen = true;
    world.restore(frozen);
    await world.open();
    await world.clock.advance(2000);
    assert.equal(world.stateOf(frozen), 'restored from-checkpoint');
    await world.clock.advance(world.settings.restart.deadlineMs);
    assert.equal(world.stateOf(frozen), 'held not-answering');
    assert.equal(world.core.restart.isSettled, true);
    await world.stop();
  });

  it('is for device plugins that call Register: one of the registry that dies after a restart is held at once', async () => {
    const world = new CoreWorld();
    const one = world.start('a', 'example.com/x', 'watcher');
    world.restore(one);
    await world.open();
    await world.list(one, 2);
    await world.kill(one);
    assert.equal(world.stateOf(one), 'held connection-lost');
    await world.stop();
  });
});

describe('a plugin that was sent away', () => {
  it('by a new kubelet.sock beside the running broker stays allocatable until it registers again', async () => {
    const world = new CoreWorld();
    const one = world.start('a');
    await world.open();
    await world.register(one);
    await world.list(one, 2);
    world.core.settling.kubeletSocketRemade();
    await world.clock.advance(5000);
    await world.kill(one);
    assert.equal(world.stateOf(one), 'restored settling');
    assert.match(world.of(one)?.message ?? '', /^disconnected after kubelet\.sock was re-created; stays allocatable/);
    assert.deepEqual(world.counts(), [2, 2]);
    const next = world.start('a');
    await world.register(next);
    await world.list(next, 2);
    assert.deepEqual(world.counts(), [2, 2]);
    await world.stop();
  });

  it('by a new kubelet.sock and does not come back is held after restart.settle, counted from that moment', async () => {
    const world = new CoreWorld();
    const one = await confirmed(world);
    await world.clock.advance(SETTLE_MS);
    world.core.settling.kubeletSocketRemade();
    await world.kill(one);
    await world.clock.advance(SETTLE_MS - 1);
    assert.deepEqual(world.counts(), [2, 2]);
    await world.clock.advance(1);
    assert.equal(world.stateOf(one), 'held connection-lost');
    assert.deepEqual(world.counts(), [2, 0]);
    await world.stop();
  });

  it('long ago and dies is held at once', async () => {
    const world = new CoreWorld();
    const one = await confirmed(world);
    await world.clock.advance(SETTLE_MS);
    await world.kill(one);
    assert.equal(world.stateOf(one), 'held connection-lost');
    await world.stop();
  });

  it('by an earlier life of the broker has its time in this one, too, although nobody listens', async () => {
    const world = new CoreWorld();
    const one = world.start('a');
    world.sockets.remove(one.socket.path);
    world.restore(one, { isAway: true });
    await world.open();
    assert.equal(world.stateOf(one), 'restored settling');
    assert.equal(world.of(one)?.isAway, true, 'and in the next');
    assert.deepEqual(world.settled, [{ confirmed: 0, settling: 1, total: 1 }]);
    await world.clock.advance(SETTLE_MS);
    assert.equal(world.stateOf(one), 'held connection-lost');
    assert.equal(world.of(one)?.isAway, false);
    await world.stop();
  });

  it('and has registered anew before it was dialled is confirmed', async () => {
    const world = new CoreWorld();
    const old = world.start('a');
    world.restore(old);
    await world.core.restart.noteAnswering();
    old.socket.listener = undefined;
    const next = world.start('a');
    await world.register(next);
    await world.list(next, 2);
    await world.core.restart.begin();
    assert.deepEqual(world.settled, [{ confirmed: 1, settling: 0, total: 1 }]);
    await world.stop();
  });
});

describe('a plugin whose socket is removed so that it registers afresh', () => {
  async function recycled(): Promise<{ world: CoreWorld; one: FakeProcess }> {
    const world = new CoreWorld();
    world.policy = { ...world.policy, reattach: 'recycle' };
    const one = world.start('a');
    world.restore(one);
    world.core.inventory.restore({
      instanceId: world.of(one)?.id ?? '',
      resource: 'example.com/x',
      raw: Buffer.alloc(0),
      sha256: '',
      devices: 2,
      healthy: 2,
    });
    await world.open();
    assert.equal(world.stateOf(one), 'ready recycled');
    assert.equal(world.sockets.at(one.socket.path), undefined);
    return { world, one };
  }

  it('is allocatable all the time, and replaced when it registers', async () => {
    const { world, one } = await recycled();
    await world.kill(one);
    one.connections.at(-1)?.lost?.();
    assert.equal(world.stateOf(one), 'restored settling');
    assert.match(world.of(one)?.message ?? '', /^disconnected after its socket was removed/);
    await world.clock.advance(SETTLE_MS - 1000);
    assert.deepEqual(world.counts(), [2, 2]);
    const next = world.start('a');
    await world.register(next);
    await world.list(next, 3);
    assert.deepEqual(world.counts(), [3, 3]);
    assert.equal(world.removed.size, 0, 'nothing is kept of it');
    await world.stop();
  });

  it('and does not notice has its socket back after restart.settle, and its devices are not allocatable', async () => {
    const { world, one } = await recycled();
    await world.clock.advance(SETTLE_MS - 1);
    assert.deepEqual([world.stateOf(one), world.counts()], ['ready recycled', [2, 2]]);
    await world.clock.advance(1);
    assert.deepEqual([world.stateOf(one), world.counts()], ['held recycle-unanswered', [2, 0]]);
    assert.equal(world.sockets.at(one.socket.path)?.key, one.socket.key);
    assert.equal(
      one.connections.every(({ isClosed }) => isClosed),
      true,
      'its session does not say that all is well',
    );
    await world.clock.advance(world.policy.graceMs);
    assert.equal(world.counts(), undefined);
    await world.stop();
  });

  it('and whose path was taken meanwhile does not get it back', async () => {
    const { world, one } = await recycled();
    const other = world.start('a', 'example.com/other');
    await world.clock.advance(SETTLE_MS);
    assert.equal(world.sockets.at(one.socket.path)?.key, other.socket.key);
    assert.equal(world.removed.size, 0);
    await world.stop();
  });

  it('is waited for where restart.settle is 0s, too, but held as soon as it goes', async () => {
    const world = new CoreWorld();
    settle(world, 0);
    world.policy = { ...world.policy, reattach: 'recycle' };
    const one = world.start('a');
    world.restore(one);
    await world.open();
    await world.clock.advance(29_999);
    assert.equal(world.stateOf(one), 'ready recycled');
    await world.clock.advance(1);
    assert.equal(world.stateOf(one), 'held recycle-unanswered');
    await world.stop();
  });
});

it('a kept socket is asked for by instances of the checkpoint that are not held', () => {
  const known = [
    { endpointKey: 'a', state: 'restored' },
    { endpointKey: 'b', state: 'held' },
  ] as const;
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => mayAskFor(key, known)),
    [true, false, false],
  );
});
