import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { CoreWorld } from '../../support/core-world.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

const TEN_MINUTES_MS = 600_000;

describe('a frozen plugin beyond its grace', () => {
  it('is no news for as long as it is silent, and is when it is back', async () => {
    const world = new CoreWorld();
    await world.open();
    const frozen = world.start('frozen');
    await world.register(frozen);
    await world.list(frozen, 1);
    frozen.isFrozen = true;
    await world.end(frozen, GRPC_STATUS.UNAVAILABLE);
    await world.clock.advance(120_000);
    assert.ok(world.changes.some(({ to }) => to.reason === 'grace-over'));
    const [events, asked] = [world.events.all.length, frozen.connections.length];
    const rejected = world.of(frozen)?.counters.rejected;
    await world.clock.advance(TEN_MINUTES_MS);
    assert.equal(world.events.all.length, events);
    assert.ok(frozen.connections.length > asked, 'it is asked');
    assert.equal(world.of(frozen)?.counters.rejected, rejected, 'it is not refused');
    frozen.isFrozen = false;
    await world.clock.advance(60_000);
    assert.equal(world.of(frozen)?.state, 'ready');
    assert.ok(world.events.all.length > events);
  });

  it('is asked the less often the more of them an ordinary user has; those of root are not', async () => {
    for (const uid of [4001, 0]) {
      const world = new ReconcileWorld({ graceMs: 30_000 });
      const name = (at: number): string => `example.com/n${String(at)}`;
      const sockets = Array.from({ length: 100 }, (_, at) => world.sockets.put(`/d/${String(at)}`, { uid }));
      for (const [at, socket] of sockets.entries()) await world.register(socket, { name: name(at) });
      let asked = 0;
      world.handler.onRegister = () => {
        asked += 1;
        return ReconcileWorld.refuse('NO_ANSWER', 'silent');
      };
      for (const [at, socket] of sockets.entries()) world.lose(socket, { reason: 'not-answering' }, name(at));
      await world.clock.advance(60_000);
      world.lifecycle.checkPaths();
      await world.clock.advance(60_000);
      asked = 0;
      await world.clock.advance(TEN_MINUTES_MS);
      assert.ok(asked >= 200, `all are asked: ${String(asked)} times`);
      assert.ok(uid === 0 ? asked > 1000 : asked <= 301, `${String(asked)} times`);
    }
  });
});
