import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FairTurns, type Turn } from '../../../src/flood/fair-turns.js';
import type { FloodVerdict } from '../../../src/flood/ports.js';
import { FakeClock } from '../../support/fake-clock.js';
import { delayOf, FLOOD, FloodWorld, policySource, processOf, refusalOf } from '../../support/flood-world.js';
import { modelLimiters } from '../../support/model-limiter.js';

const LONGEST = 1_000;
const INTERVAL = 100;

class World {
  readonly clock = new FakeClock();
  readonly turns = new FairTurns(modelLimiters(this.clock)({ burst: 1, intervalMs: INTERVAL }), () =>
    this.clock.mono(),
  );

  constructor() {
    this.ask(0);
  }

  ask(pid: number, longestMs: number = LONGEST): Turn | undefined {
    return this.turns.reserve(processOf(pid), longestMs);
  }

  /** What is left of some turns. */
  left(...turns: readonly (Turn | undefined)[]): (number | undefined)[] {
    return turns.map((turn) => turn?.leftMs());
  }
}

void describe('turns that all share', () => {
  void it('go one after the other to a process that is alone', () => {
    const world = new World();
    const turns = Array.from({ length: 11 }, () => world.ask(1));
    assert.deepEqual(world.left(...turns), [100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, undefined]);
  });

  void it('put whoever has none before the turns of a process that holds all of them', () => {
    const world = new World();
    const flood = Array.from({ length: 10 }, () => world.ask(1));
    const other = world.ask(2);
    assert.deepEqual(world.left(other), [200], 'after the first of the flood');
    assert.deepEqual(world.left(...flood), [100, 300, 400, 500, 600, 700, 800, 900, 1_000, undefined]);
    assert.deepEqual(world.left(world.ask(3)), [300], 'after the one that had as few');
    assert.deepEqual(world.left(other, ...flood.slice(0, 2)), [200, 100, 400]);
  });

  void it('are free for those who came before, where there still are some', () => {
    const world = new World();
    const flood = Array.from({ length: 3 }, () => world.ask(1));
    assert.deepEqual(world.left(world.ask(2)), [200]);
    assert.deepEqual(world.left(...flood), [100, 300, 400], 'the last took the turn that was free');
  });

  void it('are not taken from a process with as many waiting', () => {
    const world = new World();
    const [one, two] = [world.ask(1), world.ask(2)];
    assert.deepEqual(world.left(one, two, world.ask(1), world.ask(2)), [100, 200, 300, 400]);
  });

  void it('come, and stay: one that has come is taken from nobody', async () => {
    const world = new World();
    const flood = Array.from({ length: 5 }, () => world.ask(1));
    await world.clock.advance(250);
    assert.deepEqual(world.left(...flood), [0, 0, 50, 150, 250]);
    assert.deepEqual(world.left(world.ask(2)), [150]);
    assert.deepEqual(world.left(...flood), [0, 0, 50, 250, 350]);
  });

  void it('never come later to anybody than it is ready to wait: who would be later has none, and nobody behind it moves', async () => {
    const world = new World();
    const flood = [world.ask(1), world.ask(1, 250), world.ask(1)];
    assert.deepEqual(world.left(...flood), [100, 200, 300]);
    assert.deepEqual(world.left(world.ask(2), ...flood), [200, 100, undefined, 300]);
    await world.clock.advance(50);
    const patient = Array.from({ length: 7 }, () => world.ask(1));
    assert.deepEqual(world.left(...patient), [350, 450, 550, 650, 750, 850, 950]);
    assert.deepEqual(world.left(world.ask(3)), [250], 'of the last that came before, which can still wait');
    assert.deepEqual(world.left(flood[2], ...patient), [350, 450, 550, 650, 750, 850, 950, undefined]);
  });

  void it('are never lost by who waits however long', () => {
    const world = new World();
    const sockets = Array.from({ length: 20 }, () => world.ask(1, Infinity));
    const others = Array.from({ length: 5 }, (_, nth) => world.ask(2 + nth));
    assert.deepEqual(world.left(...others), [200, 300, 400, 500, 600]);
    assert.deepEqual(world.left(sockets[0], ...sockets.slice(-5)), [100, 2_100, 2_200, 2_300, 2_400, 2_500]);
  });

  void it('are of one process where nobody knows whose: all unknown ones together, and those of a uid', () => {
    const world = new World();
    const unknown = Array.from({ length: 9 }, () => world.turns.reserve(undefined, LONGEST));
    assert.deepEqual(world.left(world.turns.reserve({ ...processOf(1), pid: undefined }, LONGEST)), [200]);
    assert.deepEqual(world.left(...unknown.slice(0, 2)), [100, 300]);
  });

  void it('never come closer than the limit allows, and let a newcomer wait for no more than one turn of each other process', async () => {
    const calls = fc.array(fc.record({ pid: fc.constantFrom(1, 1, 1, 1, 2, 3, 4), afterMs: fc.nat({ max: 60 }) }), {
      maxLength: 80,
    });
    await fc.assert(
      fc.asyncProperty(calls, async (schedule) => {
        const world = new World();
        const asked: { turn: Turn; atMs: number }[] = [];
        for (const { pid, afterMs } of schedule) {
          await world.clock.advance(afterMs);
          const isWaiting = asked.some(({ turn }) => (turn.leftMs() ?? 0) > 0);
          const turn = world.ask(pid);
          if (turn !== undefined) asked.push({ turn, atMs: world.clock.mono() });
          else assert.ok(isWaiting);
        }
        const now = world.clock.mono();
        const ahead = asked.map(({ turn }) => turn.leftMs()).filter((left) => left !== undefined && left > 0);
        const sorted = (ahead as number[]).sort((a, b) => a - b);
        sorted.forEach((left, nth) => assert.ok(nth === 0 || left - (sorted[nth - 1] ?? 0) >= INTERVAL, String(now)));
        const newcomer = world.ask(99)?.leftMs();
        assert.ok(newcomer !== undefined && newcomer <= 5 * INTERVAL, String(newcomer));
      }),
    );
  });
});

void describe('the flood gate while one process floods all', () => {
  const globalRegister = { ...FLOOD.globalRegister, burst: 10, intervalMs: 5 };
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
      await world.clock.advance(verdict.delayMs);
      assert.deepEqual(verdict.next?.(), { kind: 'pass' });
    }
  });

  void it('tells the flood, when it wakes, that it waits on or has lost its turn', async () => {
    const { world, verdicts } = flooded();
    const held = verdicts.filter(({ kind }) => kind === 'delay');
    const last = held.at(-1);
    assert.ok(last?.kind === 'delay' && last.delayMs === 1_000);
    const second = held[1];
    assert.ok(second?.kind === 'delay' && second.delayMs === 10);
    world.register({ name: 'good.com/p', caller: processOf(8) });
    await world.clock.advance(10);
    const again = second.next?.();
    assert.ok(again?.kind === 'delay' && again.delayMs === 5);
    await world.clock.advance(5);
    assert.deepEqual(again.next?.(), { kind: 'pass' });
    await world.clock.advance(985);
    const refusal = refusalOf(last.next?.() ?? { kind: 'pass' });
    assert.equal(refusal?.code, 'FLOOD_GLOBAL');
    assert.match(refusal.message, /try again in/);
  });
});
