import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeSocket } from '../../support/fake-sockets.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

describe('news of a path', () => {
  it('of an ordinary user is told twice a second after many changes, and as it is then', async () => {
    const told = async (
      uid: number,
      namesMove = false,
    ): Promise<{ world: ReconcileWorld; socket: FakeSocket; changes: string[] }> => {
      const world = new ReconcileWorld({ graceMs: 30_000 });
      world.namesMove = namesMove;
      const socket = world.sockets.put('/d/a', { uid });
      await world.register(socket);
      world.list(socket);
      const changes: string[] = [];
      world.roster.listeners.follow({ changed: () => void changes.push(world.stateOf(socket)) });
      for (let nth = 0; nth < 500; nth++) {
        world.sockets.remove('/d/a');
        world.lifecycle.checkPaths();
        world.sockets.link('/d/a', socket);
        world.lifecycle.checkPaths();
        await world.clock.advance(1);
      }
      return { world, socket, changes };
    };
    assert.equal((await told(0)).changes.length, 1000);
    assert.equal((await told(0, true)).changes.length, 512, 'another user may have moved the socket of root');
    const { world, socket, changes } = await told(4001);
    assert.equal(changes.length, 512);
    world.sockets.remove('/d/a');
    world.lifecycle.checkPaths();
    await world.clock.advance(1000);
    assert.equal(world.stateOf(socket), 'ready path-missing');
    assert.deepEqual(changes.slice(512), ['ready path-missing']);
    await world.clock.advance(600_000);
    world.sockets.link('/d/a', socket);
    world.lifecycle.checkPaths();
    assert.equal(world.stateOf(socket), 'ready registered', 'at once after a pause');
  });
});
