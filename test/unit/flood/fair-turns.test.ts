import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FairTurns } from '../../../src/flood/fair-turns.js';
import type { FloodVerdict } from '../../../src/model/flood.js';
import { FakeClock } from '../../support/fake-clock.js';
import { delayOf, FLOOD, FloodWorld, policySource, processOf, refusalOf } from '../../support/flood-world.js';
import { crowded, modelLimiters } from '../../support/model-limiter.js';

const LONGEST = 1_000;
const INTERVAL = 100;

/** The fate of a call that waits: when its turn came, or that none would. */
interface Fate {
  readonly expectedMs: number;
  cameAtMs?: number;
  hasNone?: true;
  gaveUp?: true;
}

/** Root's lines have no user, or its uid. */
const lineOf = (user: string) => ({ user, isStranger: user !== '' && user !== '0' });

class World {
  readonly clock = new FakeClock();
  readonly limiter = modelLimiters(this.clock)({ burst: 1, intervalMs: INTERVAL });
  readonly turns = new FairTurns(this.limiter, this.clock);

  constructor() {
    this.limiter.tryTake();
  }

  /** Undefined: refused at once. */
  ask(process: string, longestMs: number = LONGEST, signal = new AbortController().signal): Fate | undefined {
    const waiting = this.turns.join({ ...lineOf(process.split('/')[1] ?? ''), process }, longestMs);
    if (waiting === undefined) return undefined;
    const fate: Fate = { expectedMs: waiting.expectedMs };
    waiting.come(signal).then(
      (hasCome) => {
        if (hasCome) fate.cameAtMs = this.clock.mono();
        else fate.hasNone = true;
      },
      () => (fate.gaveUp = true),
    );
    return fate;
  }

  flood(process: string, times: number, longestMs: number = LONGEST): Fate[] {
    return Array.from({ length: times }, () => this.ask(process, longestMs)).filter((fate) => fate !== undefined);
  }
}

const cameAt = (fates: readonly (Fate | undefined)[]): (number | undefined)[] => fates.map((fate) => fate?.cameAtMs);

void describe('turns that all share', () => {
  void it('go one after the other to a process that is alone, and a call that would be too late is refused at once', async () => {
    const world = new World();
    const flood = world.flood('a', 11);
    assert.deepEqual(
      flood.map((fate) => fate.expectedMs),
      [100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000],
    );
    await world.clock.advance(1_000);
    assert.deepEqual(cameAt(flood), [100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
    assert.equal(world.clock.pending, 0);
  });

  void it('go round between the processes that wait', async () => {
    const world = new World();
    const flood = world.flood('a', 4);
    const [b, c, again] = [world.ask('b'), world.ask('c'), world.ask('b')];
    assert.deepEqual([b?.expectedMs, c?.expectedMs], [200, 300], 'after one turn of each other');
    await world.clock.advance(LONGEST);
    assert.deepEqual(cameAt([...flood, b, c, again]), [100, 400, 600, 700, 200, 300, 500]);
  });

  void it('are lost by calls that would wait too long because of others, and by nobody else', async () => {
    const world = new World();
    const flood = world.flood('a', 10);
    const others = Array.from({ length: 5 }, (_, nth) => world.ask(`other-${String(nth)}`));
    await world.clock.advance(3_000);
    assert.deepEqual(cameAt(others), [200, 300, 400, 500, 600]);
    assert.deepEqual(
      flood.map((fate) => fate.cameAtMs ?? fate.hasNone),
      [100, 700, 800, 900, 1_000, 1_100, 1_200, true, true, true],
      'a quarter of a second later than it can wait, and no later',
    );
    assert.equal(world.clock.pending, 0);
  });

  void it('go round between users, however many processes one of them has', async () => {
    const world = new World();
    const crowd = Array.from({ length: 400 }, (_, nth) => world.ask(`p${String(nth)}/4001`));
    assert.equal(
      crowd.filter((fate) => fate !== undefined).length,
      10,
      'a call that would come too late is refused at once',
    );
    const [first, second] = [world.ask('r1/0'), world.ask('r1/0')];
    assert.deepEqual([first?.expectedMs, second?.expectedMs], [200, 400], 'after one turn of the other user for each');
    await world.clock.advance(LONGEST);
    assert.deepEqual(cameAt([first, second]), [200, 400]);
    assert.deepEqual(cameAt(crowd.slice(0, 4)), [100, 300, 500, 600]);
  });

  void it('are given up by the user that has most of them when the line is full, and by nobody for one that has as many', async () => {
    const clock = new FakeClock();
    const inner = modelLimiters(clock)({ burst: 1, intervalMs: INTERVAL });
    const turns = new FairTurns(crowded(inner, 6), clock);
    inner.tryTake();
    const fates: string[] = [];
    const ask = (user: string, process: string): void => {
      const waiting = turns.join({ ...lineOf(user), process }, Number.POSITIVE_INFINITY);
      if (waiting === undefined) fates.push(`${process} refused`);
      void waiting
        ?.come(new AbortController().signal)
        .then((has) => fates.push(`${process} ${has ? 'came' : 'gave up'}`));
    };
    for (let nth = 0; nth < 6; nth++) ask('4001', `a${String(nth)}`);
    for (let nth = 0; nth < 4; nth++) ask('0', `r${String(nth)}`);
    ask('4001', 'a6');
    await clock.advance(LONGEST);
    assert.deepEqual(fates.slice(0, 2), ['r3 refused', 'a6 refused']);
    assert.deepEqual(fates.slice(2).sort(), [
      'a0 came',
      'a1 came',
      'a2 came',
      'a3 gave up',
      'a4 gave up',
      'a5 gave up',
      'r0 came',
      'r1 came',
      'r2 came',
    ]);
    assert.equal(clock.pending, 0);
  });

  void it('are never lost by a call that may wait for ever', async () => {
    const world = new World();
    const patient = world.flood('a', 15, Number.POSITIVE_INFINITY);
    world.flood('b', 5);
    await world.clock.advance(2_000);
    assert.deepEqual(cameAt(patient).at(-1), 2_000);
  });

  void it('are taken by the next ones when a waiter gives up', async () => {
    const world = new World();
    const halt = new AbortController();
    const first = world.ask('a', LONGEST, halt.signal);
    const [second, third] = [world.ask('a'), world.ask('b')];
    halt.abort(new Error('gone'));
    await world.clock.advance(LONGEST);
    assert.equal(first?.gaveUp, true);
    assert.deepEqual(cameAt([second, third]), [100, 200]);
    assert.ok(world.limiter.isFull(), 'nobody took a third one');
    assert.equal(world.ask('c', LONGEST, AbortSignal.abort(new Error('gone before')))?.expectedMs, 0);
    await world.clock.settle();
    assert.equal(world.limiter.waiting, 0);
  });

  void it('end with the limiter: nobody waits for ever', async () => {
    const world = new World();
    const waiting = world.flood('a', 2, Number.POSITIVE_INFINITY);
    world.turns.close();
    await world.clock.settle();
    assert.deepEqual(
      waiting.map((fate) => fate.hasNone),
      [true, true],
    );
    assert.equal(world.clock.pending, 0);
  });

  void it('never come closer than the limit allows, and let a newcomer wait for no more than one turn of each other process', async () => {
    const calls = fc.array(
      fc.record({ process: fc.constantFrom('a', 'a', 'a', 'a', 'b', 'c', 'd'), afterMs: fc.nat({ max: 60 }) }),
      { maxLength: 80 },
    );
    await fc.assert(
      fc.asyncProperty(calls, async (schedule) => {
        const world = new World();
        const asked: Fate[] = [];
        for (const { process, afterMs } of schedule) {
          await world.clock.advance(afterMs);
          const fate = world.ask(process);
          if (fate !== undefined) asked.push(fate);
        }
        const atMs = world.clock.mono();
        const newcomer = world.ask('new');
        await world.clock.advance(3_000);
        const came = asked.flatMap((fate) => fate.cameAtMs ?? []).sort((a, b) => a - b);
        came.forEach((at, nth) => assert.ok(nth === 0 || at - (came[nth - 1] ?? 0) >= INTERVAL, String(at)));
        assert.ok((newcomer?.cameAtMs ?? Infinity) - atMs <= 5 * INTERVAL, String(newcomer?.cameAtMs));
      }),
    );
  });
});

void describe('the flood gate while one process floods all', () => {
  const globalRegister = { ...FLOOD.globalRegister, burst: 10, intervalMs: 5 };
  const never = new AbortController().signal;
  const flooded = (): { world: FloodWorld; verdicts: FloodVerdict[] } => {
    const world = new FloodWorld(policySource({ globalRegister }));
    const verdicts = Array.from({ length: 500 }, (_, nth) =>
      world.register({ name: `flood.com/n${String(nth)}`, caller: processOf(7) }),
    );
    return { world, verdicts };
  };

  void it('lets others wait for two turns, not for the turns of the flood', async () => {
    const { world } = flooded();
    for (let pid = 100; pid < 110; pid++) {
      await world.clock.advance(20);
      for (let nth = 0; nth < 10; nth++) world.register({ name: `flood.com/m${String(nth)}`, caller: processOf(7) });
      const verdict = world.register({ name: `good.com/p${String(pid)}`, caller: processOf(pid) });
      assert.ok((delayOf(verdict) ?? 0) <= 10, String(delayOf(verdict)));
      if (verdict.kind !== 'delay') continue;
      const ended = verdict.wait(never);
      await world.clock.advance(10);
      assert.deepEqual(await ended, { kind: 'pass' });
    }
  });

  void it('refuses those of the flood that have lost their turn, with the time to come back', async () => {
    const { world, verdicts } = flooded();
    const held = verdicts.filter((verdict) => verdict.kind === 'delay');
    assert.equal(held.at(-1)?.delayMs, 1_000);
    const last = held.at(-1)?.wait(never);
    for (let pid = 100; pid < 200; pid++) world.register({ name: `good.com/p${String(pid)}`, caller: processOf(pid) });
    await world.clock.advance(2_000);
    const refusal = refusalOf((await last) ?? { kind: 'pass' });
    assert.equal(refusal?.code, 'FLOOD_GLOBAL');
    assert.match(refusal.message, /try again in/);
  });
});
