import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReconcileWorld } from '../../support/reconcile-world.js';

const GRACE = { graceMs: 30_000 };

describe('plugins of one user that are lost together', () => {
  const nameOf = (index: number): string => `example.com/x${String(index)}`;
  /** Plugins of a user that are lost at once. */
  const lost = async (uid: number, count: number) => {
    const world = new ReconcileWorld(GRACE);
    const sockets = Array.from({ length: count }, (_, index) => world.sockets.put(`/d/${String(index)}`, { uid }));
    const serve = async (): Promise<void> => {
      for (const [index, socket] of sockets.entries()) {
        await world.register(socket, { name: nameOf(index) });
        world.list(socket, 1, nameOf(index));
      }
    };
    await serve();
    for (const [index, socket] of sockets.entries()) world.lose(socket, {}, nameOf(index));
    return { world, sockets, serve };
  };
  /** Loses as many plugins of a user at once. @returns how many are asked again within so many milliseconds */
  const askedAgain = async (uid: number, withinMs: number, count = 100): Promise<number> => {
    const { world, sockets } = await lost(uid, count);
    await world.clock.advance(withinMs);
    return sockets.filter((socket, index) => world.stateOf(socket, nameOf(index)).startsWith('ready')).length;
  };

  it('are come back to one after the other, some of them at once', async () => {
    assert.equal(await askedAgain(4001, 0), 16);
    assert.equal(await askedAgain(4001, 25 * 50), 66);
    assert.equal(await askedAgain(4001, 25 * 84), 100);
  });

  it('have a turn each, however many they are', async () => {
    assert.equal(await askedAgain(4001, 25 * 1100, 1200), 16 + 1100);
  });

  it('keep nobody waiting once they have come back by themselves', async () => {
    const { world, serve } = await lost(4001, 100);
    await serve();
    const other = world.sockets.put('/d/other', { uid: 4001 });
    await world.register(other, { name: nameOf(100) });
    world.list(other, 1, nameOf(100));
    world.lose(other, {}, nameOf(100));
    await world.clock.advance(25);
    assert.match(world.stateOf(other, nameOf(100)), /^ready/);
  });

  it('are come back to at once where they are of root', async () => {
    assert.equal(await askedAgain(0, 0), 100);
  });
});
