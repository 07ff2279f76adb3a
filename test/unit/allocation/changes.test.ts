import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Changes } from '../../../src/allocation/changes.js';
import type { Clock } from '../../../src/kernel/clock.js';
import type { Holding } from '../../../src/model/device-list.js';
import { FakeClock } from '../../support/fake-clock.js';

const held = (resource: string): Holding => ({ resource }) as Holding;

/** Looks that take so long each; the news for each, and when. */
function world(lookMs: number) {
  const fake = new FakeClock();
  let spent = 0;
  const clock: Clock = {
    wall: () => fake.wall(),
    mono: () => fake.mono() + spent,
    alarm: (ms, ring) => fake.alarm(ms, ring),
  };
  const looks: string[] = [];
  const changes = new Changes(
    clock,
    () => Promise.resolve(),
    (resources) => {
      spent += lookMs;
      looks.push(`${String(fake.mono())} ${resources === undefined ? 'all' : [...resources].join()}`);
    },
  );
  return { fake, changes, looks };
}

describe('changes of what plugins offer', () => {
  it('have waiting requests looked at once for all changes of one turn', async () => {
    const { fake, changes, looks } = world(0);
    const start = String(fake.mono());
    for (const name of ['a', 'b', 'a']) changes.listApplied(held(name));
    await fake.settle();
    changes.listApplied(held('c'));
    await fake.settle();
    changes.consumerMoved();
    await fake.settle();
    assert.deepEqual(looks, [`${start} a,b`, `${start} c`, `${start} all`]);
  });

  it('that come faster than they can be looked at take a fifth of the time, and none is lost', async () => {
    const { fake, changes, looks } = world(10);
    for (let ms = 0; ms < 1_000; ms += 1) {
      changes.listApplied(held(`r${String(ms)}`));
      await fake.advance(1);
    }
    await fake.advance(50);
    assert.ok(looks.length > 15 && looks.length <= 30, String(looks.length));
    const seen = new Set(looks.flatMap((look) => look.split(' ')[1]?.split(',') ?? []));
    assert.equal(seen.size, 1_000);
  });

  it('are looked at five seconds later at most, also where the process was stopped during a look', async () => {
    const { fake, changes, looks } = world(600_000);
    changes.consumerMoved();
    await fake.settle();
    changes.listApplied(held('a'));
    await fake.advance(5_000);
    assert.equal(looks.length, 2);
  });

  it('are not looked at any more after a stop', async () => {
    const { fake, changes, looks } = world(10);
    changes.consumerMoved();
    await fake.settle();
    changes.consumerMoved();
    changes.stop();
    await fake.advance(1_000);
    assert.equal(looks.length, 1);
    assert.equal(fake.pending, 0);
  });
});
