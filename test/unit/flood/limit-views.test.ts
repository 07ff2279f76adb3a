import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FloodWorld, policySource } from '../../support/flood-world.js';

const rowOf = (world: FloodWorld, limit: string, plugin: string) =>
  world.gate.limits().find((row) => row.limit === limit && row.plugin === plugin);

describe('limits as an operator sees them', () => {
  it('are the one of all together before anything was spent', () => {
    const [only, ...more] = new FloodWorld().gate.limits();
    assert.deepEqual(more, []);
    assert.deepEqual([only?.limit, only?.permits, only?.slowing], ['global.register', 1_000, '']);
  });

  it('have the permits left, the time of the next and the callers that are slowed', async () => {
    const world = new FloodWorld();
    for (let call = 0; call < 5; call += 1) world.register();
    await world.clock.advance(1_500);
    world.register();
    world.register();
    world.register();
    const row = rowOf(world, 'register', 'DevicePlugin/vendor.com/gpu');
    assert.deepEqual([row?.permits, row?.burst, row?.nextInMs], [0, 5, 2_500]);
    assert.deepEqual([row?.exceeded, row?.strikes, row?.slowing], [3, 2, 'reject']);
    await world.clock.advance(60_000);
    const later = rowOf(world, 'register', 'DevicePlugin/vendor.com/gpu');
    assert.deepEqual([later?.permits, later?.nextInMs, later?.strikes, later?.slowing], [5, 0, 0, '']);
  });

  it('give the end of a quarantine as a time of the wall clock as it is now', async () => {
    const world = new FloodWorld();
    world.misbehave();
    await world.clock.advance(10_000);
    world.clock.stepWall(-86_400_000);
    const row = rowOf(world, 'register', 'DevicePlugin/vendor.com/gpu');
    assert.equal(row?.slowing, 'quarantined');
    assert.equal(row.quarantinedUntil, new Date(world.clock.wall() + 50_000).toISOString());
  });

  it('are summed up for each rule', () => {
    const world = new FloodWorld(policySource({}, new Map([['a/b', { mode: 'observe' }]])));
    world.misbehave();
    world.register({ name: 'vendor.com/nic' });
    for (let call = 0; call < 8; call += 1) world.register({ name: 'a/b' });
    const [byDefault, byRule, ...more] = world.gate.rules();
    assert.deepEqual(more, []);
    assert.deepEqual(byDefault, {
      source: 'flood',
      mode: 'enforce',
      buckets: 2,
      slowed: 0,
      quarantined: 1,
      strikes: 0,
    });
    assert.deepEqual(byRule, {
      source: 'rules[0].flood',
      mode: 'observe',
      buckets: 1,
      slowed: 1,
      quarantined: 0,
      strikes: 2,
    });
  });

  it('cost nothing once the gate is closed: no timer is left', () => {
    const world = new FloodWorld();
    world.misbehave();
    world.register({ name: 'a/b' });
    world.gate.close();
    assert.equal(world.clock.pending, 0);
  });
});
