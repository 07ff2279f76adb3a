import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FloodVerdict } from '../../../src/model/flood.js';
import type { LimitView } from '../../../src/model/views.js';
import { delayOf, FLOOD, FloodWorld, policySource, processOf, refusalOf } from '../../support/flood-world.js';

const userOf = (uid: number): number => (uid >= 100_000 ? 4001 : uid);

function worldOf(over: Partial<typeof FLOOD> = {}): FloodWorld {
  return new FloodWorld(policySource(over), undefined, undefined, undefined, userOf);
}

/** One registration in each of so many names, each by a process of its own. */
function flood(world: FloodWorld, names: number, uid: (nth: number) => number): FloodVerdict[] {
  return Array.from({ length: names }, (_, nth) =>
    world.register({
      name: `many.com/n${String(nth)}`,
      uid: uid(nth),
      caller: processOf(1_000 + nth, uid(nth)),
    }),
  );
}

function rows(world: FloodWorld): Pick<LimitView, 'uid' | 'permits' | 'exceeded' | 'slowing'>[] {
  return world.gate
    .limits()
    .filter(({ limit }) => limit === 'global.register')
    .map(({ uid, permits, exceeded, slowing }) => ({ uid, permits, exceeded, slowing }));
}

describe('the share of one ordinary user in the registrations of all', () => {
  it('is a quarter of what is there at once and a tenth of the pace, and costs nobody else a turn', async () => {
    const world = worldOf();
    const verdicts = flood(world, 600, () => 4001);
    const passed = verdicts.filter(({ kind }) => kind === 'pass').length;
    assert.equal(passed, FLOOD.globalRegister.burst / 4);
    assert.equal(delayOf(verdicts[passed] ?? { kind: 'pass' }), 10 * FLOOD.globalRegister.intervalMs);
    for (const uid of [0, 4002]) {
      for (let nth = 0; nth < 100; nth += 1) {
        const name = `good.com/u${String(uid)}n${String(nth)}`;
        assert.equal(world.register({ name, uid, caller: processOf(9, uid) }).kind, 'pass');
      }
    }
    // Over a minute in which each of its names asks as often as it may alone.
    let taken = 0;
    for (let second = 0; second < 60; second += 2) {
      taken += flood(world, 240, () => 4001).filter(({ kind }) => kind === 'pass').length;
      await world.clock.advance(2_000);
    }
    assert.ok(taken <= 60 * 20 + 1, String(taken));
  });

  it('is of two such users at most for all of them together, of which root waits for none', async () => {
    const world = worldOf();
    const passed = [4001, 4002, 4003, 4004]
      .map((uid) => flood(world, 250, () => uid))
      .flat()
      .filter(({ kind }) => kind === 'pass').length;
    assert.equal(passed, FLOOD.globalRegister.burst / 2);
    assert.equal(world.register({ name: 'good.com/p', uid: 0, caller: processOf(9, 0) }).kind, 'pass');
    const [, ordinary] = rows(world);
    assert.deepEqual([ordinary?.uid, ordinary?.exceeded, ordinary?.slowing], [-1, 500, 'plugins of ordinary users']);
    let taken = 0;
    for (let second = 0; second < 60; second += 2) {
      for (const uid of [4001, 4002, 4003, 4004])
        taken += flood(world, 60, () => uid).filter(({ kind }) => kind === 'pass').length;
      await world.clock.advance(2_000);
    }
    assert.ok(taken <= 60 * 40 + 1, String(taken));
  });

  it('refuses what would wait too long, naming user and share, and nobody gets a strike for it', () => {
    const world = worldOf();
    const refusal = refusalOf(flood(world, 600, () => 4001).at(-1) ?? { kind: 'pass' });
    assert.equal(refusal?.code, 'FLOOD_GLOBAL');
    assert.equal(
      refusal.message,
      'DevicePlugin many.com/n599 of uid 4001: plugins of uid 4001 together register more often than their share of flood.global.register allows (burst 250, then one each 50 ms); try again in 1.1 s',
    );
    assert.equal(
      world.gate.limits().reduce((sum, { strikes }) => sum + strikes, 0),
      0,
    );
    assert.deepEqual(rows(world), [
      { uid: -1, permits: 750, exceeded: 0, slowing: '' },
      { uid: 4001, permits: 0, exceeded: 350, slowing: 'plugins of uid 4001' },
    ]);
  });

  it('is one for all uids of a user', () => {
    const world = worldOf();
    const verdicts = flood(world, 600, (nth) => 100_000 + nth);
    assert.equal(verdicts.filter(({ kind }) => kind === 'pass').length, FLOOD.globalRegister.burst / 4);
  });

  it('is one for all further users where there are too many to be counted apart', () => {
    const world = worldOf({ globalRegister: { ...FLOOD.globalRegister, burst: 6_000 } });
    flood(world, 1_024, (nth) => 10_000 + nth);
    const verdicts = flood(world, 1_510, (nth) => 20_000 + (nth % 7));
    assert.equal(verdicts.filter(({ kind }) => kind === 'pass').length, 1_500);
    assert.deepEqual(
      rows(world).map(({ uid, slowing }) => [uid, slowing]),
      [
        [-1, ''],
        [-1, 'plugins of further users'],
      ],
    );
  });

  it('comes after the turn of the plugin: a call that waits for that takes nothing of it', async () => {
    const world = worldOf({ globalRegister: { ...FLOOD.globalRegister, burst: 24 } });
    const mine = { uid: 4001, caller: processOf(5, 4001) };
    for (let call = 0; call < 5; call += 1) assert.equal(world.register(mine).kind, 'pass');
    await world.clock.advance(1_500);
    const held = world.register(mine);
    assert.ok(held.kind === 'delay');
    assert.equal(delayOf(held), 500);
    const six = flood(world, 6, () => 4001);
    assert.deepEqual(
      six.map(({ kind }) => kind),
      Array(6).fill('pass'),
    );
    const ended = held.wait(new AbortController().signal);
    await world.clock.advance(500);
    assert.deepEqual(await ended, { kind: 'pass' });
  });

  it('is followed when the policy changes, and holds nobody up where it only observes', () => {
    const world = worldOf();
    flood(world, 600, () => 4001);
    world.gate.reload(policySource({ globalRegister: { ...FLOOD.globalRegister, burst: 4_000, intervalMs: 1 } }));
    const { burst, intervalMs } = world.gate.limits().find(({ uid }) => uid === 4001) ?? {};
    assert.deepEqual([burst, intervalMs], [1_000, 10]);
    const observed = worldOf({ mode: 'observe' });
    assert.ok(flood(observed, 900, () => 4001).every(({ kind }) => kind === 'pass'));
    assert.equal(rows(observed).find(({ uid }) => uid === 4001)?.exceeded, 650);
  });

  it('ends everybody’s wait when the gate closes', async () => {
    const world = worldOf();
    const held = flood(world, 260, () => 4001).at(-1);
    assert.ok(held?.kind === 'delay');
    const ended = held.wait(new AbortController().signal);
    world.gate.close();
    assert.equal(refusalOf(await ended)?.code, 'FLOOD_GLOBAL');
    assert.equal(world.clock.pending, 0);
  });
});
