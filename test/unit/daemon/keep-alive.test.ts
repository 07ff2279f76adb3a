import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreWorld, type FakeProcess } from '../../support/core-world.js';

/** The answer to a newcomer: `let in`, or the code of its refusal. */
async function newcomer(world: CoreWorld): Promise<string> {
  const arriving = world.register(world.start('new'));
  await world.clock.advance(1000);
  const outcome = await arriving;
  return outcome.ok ? 'let in' : outcome.refusal.code;
}

function keepAlive(): CoreWorld {
  const world = new CoreWorld();
  world.policy = { ...world.policy, duplicates: 'keep-alive' };
  return world;
}

/** A plugin that was taken in and whose list stream ended so often that it is held. */
async function held(world: CoreWorld): Promise<FakeProcess> {
  const one = world.start('old');
  await world.register(one);
  await world.list(one, 2);
  await world.end(one);
  await world.clock.advance(0);
  await world.list(one, 2);
  await world.end(one);
  assert.equal(world.stateOf(one), 'held reopening');
  return one;
}

/** Fates of an incumbent without an open session, and the answer to a newcomer then. */
const FATES: [what: string, happens: (world: CoreWorld, one: FakeProcess) => unknown, told: string][] = [
  ['answers', () => undefined, 'DUPLICATE_KEPT'],
  ['hangs', (_, one) => (one.isFrozen = true), 'let in'],
  ['refuses to say its options', (_, one) => (one.isBroken = true), 'let in'],
  ['listens no more', (_, one) => (one.socket.listener = undefined), 'let in'],
];

describe('duplicates: keep-alive while the incumbent has no open session', () => {
  for (const [what, happens, told] of FATES) {
    it(`its stream is being opened again and it ${what}: ${told}`, async () => {
      const world = keepAlive();
      const one = await held(world);
      await happens(world, one);
      assert.equal(await newcomer(world), told);
      await world.stop();
      assert.equal(world.sockets.openPins, 0);
      assert.ok(one.connections.every(({ isClosed }) => isClosed));
    });

    it(`it is restored, not yet confirmed, and ${what}: ${told}`, async () => {
      const world = keepAlive();
      const one = world.start('old');
      world.restore(one);
      await happens(world, one);
      assert.equal(await newcomer(world), told);
      await world.stop();
      assert.equal(world.sockets.openPins, 0);
      assert.ok(one.connections.every(({ isClosed }) => isClosed));
    });
  }

  it('another incarnation at the path of a restored one does not speak for it', async () => {
    const world = keepAlive();
    world.restore(world.start('old'));
    const other = world.start('old');
    assert.equal(await newcomer(world), 'let in');
    assert.equal(other.connections.length, 0, 'it was not even dialled');
    await world.stop();
  });

  for (const [why, keepOut] of [
    ['is in quarantine', (world, one) => world.quarantine(one, true)],
    [
      'lost its registration socket',
      (world, one) => {
        const report = { state: 'held', reason: 'socket-removed', message: 'removed' } as const;
        world.core.reports.report(world.of(one)?.id ?? '', report);
      },
    ],
  ] satisfies [why: string, keepOut: (world: CoreWorld, one: FakeProcess) => void][]) {
    it(`one that ${why} is not asked: it is kept out itself`, async () => {
      const world = keepAlive();
      const one = await held(world);
      keepOut(world, one);
      const dialled = one.connections.length;
      assert.equal(await newcomer(world), 'let in');
      assert.equal(one.connections.length, dialled);
      await world.stop();
    });
  }

  it('one that serves is asked over its session, and on no further connection', async () => {
    const world = keepAlive();
    const one = world.start('old');
    await world.register(one);
    await world.list(one, 2);
    assert.equal(await newcomer(world), 'DUPLICATE_KEPT');
    assert.equal(one.connections.length, 1);
    await world.stop();
  });
});
