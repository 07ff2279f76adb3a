import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreWorld, type FakeProcess } from '../../support/core-world.js';

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

describe('a quarantine', () => {
  it('does not bring a plugin back whose registration socket is gone, by the socket that is in its place', async () => {
    const world = new CoreWorld();
    const start = (): FakeProcess => {
      const process = world.start('x.sock', 'example.com/x', 'watcher');
      process.socket.listener = { uid: 0, pid: Number(process.socket.incarnation.ino) };
      return process;
    };
    const one = start();
    await world.open();
    await world.list(one, 2);
    const newcomer = start();
    world.discovery.rescan();
    await world.clock.settle();
    assert.equal(world.stateOf(one), 'held socket-removed');
    world.quarantine(one, true);
    world.quarantine(one, false);
    await world.clock.settle();
    assert.deepEqual([world.stateOf(one), newcomer.connections.length], ['held socket-removed', 1]);
    await world.clock.advance(world.policy.graceMs);
    assert.deepEqual([world.stateOf(one), world.stateOf(newcomer)], ['gone grace-over', 'ready registered']);
    await world.stop();
  });
});
