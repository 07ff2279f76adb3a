import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreWorld } from '../../support/core-world.js';

const LONG_MS = 600_000;

describe('the end of a quarantine before its time', () => {
  it('brings a plugin of the watcher door back at once', async () => {
    const world = new CoreWorld();
    world.keptOutMs = LONG_MS;
    const one = world.start('x.sock', 'example.com/x', 'watcher');
    const other = world.start('y.sock', 'example.com/y', 'watcher');
    await world.open();
    await world.clock.advance(1_000);
    world.keptOutMs = undefined;
    world.quarantine(one, false);
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'ready registered');
    assert.deepEqual(one.notified, ['']);
    assert.equal(world.stateOf(other), 'unknown', 'whose quarantine goes on');
    await world.stop();
  });

  it('brings a known plugin back at once that was kept out when it was pulled', async () => {
    const world = new CoreWorld();
    const one = world.start('x.sock');
    await world.register(one);
    await world.list(one, 2);
    world.keptOutMs = LONG_MS;
    await world.end(one);
    await world.clock.advance(1_000);
    assert.equal(world.stateOf(one), 'held reopening');
    world.keptOutMs = undefined;
    world.quarantine(one, false);
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'ready confirmed');
    await world.stop();
  });
});
