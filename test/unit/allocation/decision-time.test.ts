import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecisionTime } from '../../../src/allocation/decision-time.js';
import type { Clock } from '../../../src/kernel/clock.js';
import { FakeClock } from '../../support/fake-clock.js';

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
