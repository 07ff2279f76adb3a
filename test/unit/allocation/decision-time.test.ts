import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecisionTime } from '../../../src/allocation/decision-time.js';
import type { Clock } from '../../../src/kernel/clock.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { FakeClock } from '../../support/fake-clock.js';

const GPU = 'v/gpu';
const userOf = (uid: number) => uid;

describe('a user whose decisions are put off', () => {
  it('is tried again ten times a second at most, however little it owes: all waiting requests are gone through then', async () => {
    const fake = new FakeClock();
    let [spent, again] = [0, 0];
    const clock: Clock = {
      wall: () => fake.wall(),
      mono: () => fake.mono() + spent,
      alarm: (ms, ring) => fake.alarm(ms, ring),
    };
    const decideBriefly = () => {
      spent += 0.2;
      return { ok: true, value: undefined } as const;
    };
    const time = new DecisionTime({ clock, ownUid: 0, userOf }, () => {
      again += 1;
      while (time.decide(4001, decideBriefly).ok);
    });
    time.spend(4001, () => (spent += 201));
    assert.equal(time.decide(4001, decideBriefly).ok, false);
    await fake.advance(1_000);
    assert.ok(again >= 9 && again <= 10, String(again));
  });

  it('owes two seconds at most of a decision during which the process was stopped', () => {
    const clock = new FakeClock();
    const time = new DecisionTime({ clock, ownUid: 0, userOf });
    time.spend(4001, () => clock.pass(600_000));
    assert.equal(time.waitMs(4001), 18_000);
  });
});

describe('requests that come together', () => {
  /** Twenty of a user, each of which takes five milliseconds to decide about and as long to ask its plugin about: how long they take. */
  async function together(uid: number): Promise<{ readonly tookMs: number; readonly atOnceMs: number }> {
    const machine = new FakeMachine();
    const gpu = machine.offer(GPU, ...Array.from({ length: 40 }, (_, nth) => `g${String(nth)}`));
    const { clock } = machine;
    let workMs = 0;
    const work = <T>(result: T): T => {
      workMs += 5;
      clock.pass(5);
      return result;
    };
    gpu.preferred = (available) => work(Promise.resolve(available.slice(0, 1)));
    const { allocations } = await allocationWorld(machine, {
      consumers: { of: () => work('local'), unsure: () => undefined },
    });
    const caller = { uid, process: undefined };
    const asked = Array.from({ length: 20 }, (_, nth) =>
      allocations.allocate(request(GPU, { key: String(nth) }), caller, new AbortController().signal),
    );
    await clock.settle();
    const atOnceMs = workMs;
    const startedAt = clock.mono() - workMs;
    const results = await clock.until(Promise.all(asked));
    assert.ok(results.every(({ ok }) => ok));
    return { tookMs: clock.mono() - startedAt, atOnceMs };
  }

  it('of an ordinary user are decided about, and asked about, with rests between, and each is served', async () => {
    const { tookMs, atOnceMs } = await together(4001);
    assert.ok(atOnceMs <= 20, String(atOnceMs));
    assert.ok(tookMs >= 1000, String(tookMs));
  });

  it('of root are decided about at once', async () => {
    const { tookMs, atOnceMs } = await together(0);
    assert.equal(tookMs, atOnceMs);
  });
});
