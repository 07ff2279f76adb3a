import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BURST_BYTES, ListShares } from '../../../src/flood/list-shares.js';
import { FairTurns } from '../../../src/flood/fair-turns.js';
import { delayOf, FLOOD, FloodWorld, policySource, processOf } from '../../support/flood-world.js';
import { FakeClock } from '../../support/fake-clock.js';
import { crowded, modelLimiters } from '../../support/model-limiter.js';
import { RecordedEvents } from '../../support/recorders.js';

/** As /etc/subuid says of a user that useradd made. */
const userOf = (uid: number): number => (uid >= 100_000 ? 4001 : uid);
const MANY = Array.from({ length: 60 }, (_, nth) => 100_000 + nth);

describe('a user with many uids', () => {
  const globalRegister = { ...FLOOD.globalRegister, burst: 1, intervalMs: 10 };

  it('has the turns of one, beside another user', () => {
    const world = new FloodWorld(policySource({ globalRegister }), undefined, undefined, undefined, userOf);
    for (const uid of [4001, ...MANY]) {
      world.register({ name: `evil.com/n${String(uid)}`, uid, caller: processOf(uid, uid) });
    }
    const other = world.register({ name: 'good.com/p', uid: 4002, caller: processOf(7, 4002) });
    // All ordinary users together have a fifth of the pace.
    assert.ok((delayOf(other) ?? Infinity) <= 5 * globalRegister.intervalMs, String(delayOf(other)));
  });

  it('has one share of lists, and one bucket of requests for devices', () => {
    const clock = new FakeClock();
    const shares = new ListShares({ clock, events: new RecordedEvents(), ownUid: 0, userOf, processorShare: 1 });
    assert.equal(shares.book(MANY[0] ?? 0, BURST_BYTES - 4096).waitMs, 0);
    assert.ok(shares.book(MANY[1] ?? 0, BURST_BYTES).waitMs > 0);
    assert.equal(shares.book(4002, 1024).waitMs, 0);
    const { allocations } = new FloodWorld(policySource(), undefined, undefined, undefined, userOf).gate;
    const asked = Array.from({ length: 10 * FLOOD.allocate.burst }, (_, nth) => allocations.ask(100_000 + nth));
    assert.equal(asked.filter((waitMs) => waitMs === undefined).length, FLOOD.allocate.burst);
    assert.equal(allocations.ask(4002), undefined);
  });

  it('gives way with its connections to others, as one that holds most', () => {
    const connections = { ...FLOOD.connections, total: MANY.length + 1 };
    const world = new FloodWorld(policySource({ connections }), undefined, undefined, undefined, userOf);
    const gone: number[] = [];
    for (const uid of [4002, 4002, ...MANY.slice(1)]) {
      const verdict = world.gate.connections.admit(processOf(uid, uid));
      assert.ok(verdict.ok);
      verdict.mayGiveWay?.({ isIdle: () => true, hasCalled: () => false, giveWay: () => void gone.push(uid) });
    }
    assert.ok(world.gate.connections.admit(processOf(7, 4003)).ok);
    assert.deepEqual(gone.map(userOf), [4001]);
  });

  it('waits in one line with all its processes, one turn of which goes to another user each time', async () => {
    const clock = new FakeClock();
    const limiter = modelLimiters(clock)({ burst: 1, intervalMs: 10 });
    const turns = new FairTurns(limiter, clock);
    limiter.tryTake();
    const came: string[] = [];
    for (const process of ['a1', 'a2', 'a3', 'b1', 'b2']) {
      const waiting = turns.join({ isStranger: true, user: process.slice(0, 1), process }, 1_000);
      void waiting?.come(new AbortController().signal).then((has) => has && came.push(process));
    }
    await clock.advance(1_000);
    assert.deepEqual(came, ['a1', 'b1', 'a2', 'b2', 'a3']);
  });
});

describe('ordinary users together', () => {
  it('have each second turn beside root and the user of the broker, however many they are', async () => {
    const clock = new FakeClock();
    const limiter = modelLimiters(clock)({ burst: 1, intervalMs: 10 });
    const turns = new FairTurns(limiter, clock);
    limiter.tryTake();
    const came: string[] = [];
    const join = (isStranger: boolean, user: string): number | undefined => {
      const waiting = turns.join({ isStranger, user, process: user }, 1_000);
      void waiting?.come(new AbortController().signal).then((has) => has && came.push(user));
      return waiting?.expectedMs;
    };
    for (let uid = 0; uid < 50; uid += 1) join(true, `u${String(uid)}`);
    assert.equal(join(false, 'root'), 20, 'after one of theirs');
    assert.equal(join(false, 'own'), 40);
    assert.equal(join(false, 'root'), 60);
    await clock.advance(2_000);
    assert.deepEqual(came.slice(0, 6), ['u0', 'root', 'u1', 'own', 'u2', 'root']);
    assert.equal(came.length, 53);
    assert.equal(clock.pending, 0);
  });

  it('give places in a full line up for root, the user that has most first', () => {
    const clock = new FakeClock();
    const inner = modelLimiters(clock)({ burst: 1, intervalMs: 10 });
    const turns = new FairTurns(crowded(inner, 8), clock);
    inner.tryTake();
    const join = (isStranger: boolean, user: string): boolean =>
      turns.join({ isStranger, user, process: user }, Number.POSITIVE_INFINITY) !== undefined;
    for (const user of ['a', 'a', 'b', 'c', 'd', 'e', 'f', 'g']) assert.ok(join(true, user));
    assert.ok(!join(true, 'a'), 'it has most');
    assert.deepEqual(
      [1, 2, 3, 4, 5].map(() => join(false, 'root')),
      [true, true, true, true, false],
    );
    assert.ok(!join(true, 'h'), 'nobody has more than one');
    assert.equal(inner.waiting, 8);
    turns.close();
  });
});
