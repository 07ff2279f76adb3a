import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UpdatePacer } from '../../../src/flood/update-pacer.js';
import type { PolicySource } from '../../../src/model/settings.js';
import { FLOOD, FloodWorld, openPacer, policySource, processOf } from '../../support/flood-world.js';

function open(policy: PolicySource): { world: FloodWorld; pacer: UpdatePacer } {
  const world = new FloodWorld(policy);
  return { world, pacer: openPacer(world, policy) };
}

const takeAll = (pacer: UpdatePacer): number => {
  let taken = 0;
  while (pacer.tryTake()) taken += 1;
  return taken;
};

const DISCONNECT = policySource({ updates: { ...FLOOD.updates, onExceed: 'disconnect' } });

describe('the pace of lists', () => {
  it('is a burst and then one each interval', async () => {
    const { world, pacer } = open(policySource());
    assert.equal(takeAll(pacer), 10);
    assert.equal(pacer.limiter.nextInMs(), 250);
    await world.clock.advance(250);
    assert.equal(takeAll(pacer), 1);
  });

  it('counts a list that waits once, however often it is asked for, and gives no strike for coalescing', async () => {
    const { world, pacer } = open(policySource());
    for (let list = 0; list < 100; list += 1) {
      takeAll(pacer);
      for (let time = 0; time < 5; time += 1) pacer.tryTake();
      await world.clock.advance(250);
    }
    assert.equal(world.counts.get('updates coalesce'), 100);
    assert.deepEqual([world.began.length, world.gate.buckets], [0, 0]);
  });

  it('tells a flood once for as long as it goes on', async () => {
    const { world, pacer } = open(policySource());
    const flood = async (): Promise<void> => {
      for (let second = 0; second < 300; second += 1) {
        takeAll(pacer);
        await world.clock.advance(1_000);
      }
    };
    await flood();
    assert.deepEqual(world.events.messages('flood'), [
      'DevicePlugin vendor.com/gpu sends lists faster than flood.updates allows (burst 10, then one each 250 ms); only the newest is taken on each turn',
    ]);
    await world.clock.advance(60_000);
    await flood();
    assert.equal(world.events.messages('flood').length, 2);
  });

  it('makes each disconnect but the first of a window a strike, and the tenth strike a quarantine with the process that sent', () => {
    const { world } = open(DISCONNECT);
    for (let session = 0; session < 11; session += 1) {
      assert.equal(world.began.length, 0);
      const pacer = openPacer(world, DISCONNECT, processOf(9));
      assert.equal(pacer.onExceed, 'disconnect');
      takeAll(pacer);
      pacer.close();
    }
    assert.equal(world.counts.get('updates disconnect'), 11);
    assert.equal(world.began.length, 1);
    const told = world.events.all.map((event) => event.type);
    assert.deepEqual(told.slice(-2), ['flood', 'quarantine'], 'the cause comes first');
    assert.deepEqual(
      world.began[0]?.offenders.map((offender) => offender.pid),
      [9],
    );
  });

  it('is shown after its session was closed for its lists, until the plugin has another or ten minutes have passed', async () => {
    const { world } = open(DISCONNECT);
    const rows = (): readonly string[] =>
      world.gate
        .limits()
        .filter(({ limit, uid }) => limit === 'updates' && uid === 7)
        .map(({ slowing, exceeded }) => `${slowing} ${String(exceeded)}`);
    const closed = openPacer(world, DISCONNECT, { ...processOf(9), uid: 7 });
    takeAll(closed);
    closed.close();
    closed.close();
    assert.deepEqual(rows(), ['disconnected 1']);
    const next = openPacer(world, DISCONNECT, { ...processOf(9), uid: 7 });
    assert.deepEqual(rows(), [' 0']);
    next.close();
    assert.deepEqual(rows(), [], 'one that ended by itself is not shown');
    const again = openPacer(world, DISCONNECT, { ...processOf(9), uid: 7 });
    takeAll(again);
    again.close();
    await world.clock.advance(10 * 60_000 + 1);
    assert.deepEqual(rows(), []);
  });

  it('lets every list pass where the mode is observe, and counts those that would have waited', () => {
    const policy = policySource({ mode: 'observe', updates: { ...FLOOD.updates, onExceed: 'disconnect' } });
    const { world, pacer } = open(policy);
    for (let list = 0; list < 100; list += 1) assert.ok(pacer.tryTake());
    assert.equal(world.counts.get('updates observe'), 90);
    assert.equal(world.gate.quarantines, 0);
    assert.match(world.events.messages('flood')[0] ?? '', /all are taken, because the mode is observe$/);
  });

  it('is counted for the uid of the plugin that sends', () => {
    const policy = policySource();
    const world = new FloodWorld(policy);
    takeAll(openPacer(world, policy, processOf(9, 4001)));
    assert.equal(world.gate.limits().find((limit) => limit.limit === 'updates')?.uid, 4001);
  });

  it('is shown while the session lives', () => {
    const { world, pacer } = open(policySource());
    const shown = () => world.gate.limits().find((limit) => limit.limit === 'updates');
    takeAll(pacer);
    const { plugin, uid, permits, nextInMs, exceeded, slowing, source } = shown()!;
    assert.deepEqual([plugin, uid, permits, nextInMs], ['DevicePlugin/vendor.com/gpu', 0, 0, 250]);
    assert.deepEqual([exceeded, slowing, source], [1, 'coalesce', 'flood']);
    pacer.close();
    pacer.close();
    assert.equal(shown(), undefined);
    assert.ok(!pacer.tryTake());
  });
});
