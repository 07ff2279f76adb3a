import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaseIds } from '../../../src/allocation/ids.js';

const HOUR_MS = 3_600_000;

/** Ids made at a wall clock that tests set. The chance in them falls, so that order is by time alone. */
function world() {
  const facts = { wall: 1_900_000_000_000 };
  let chance = 1;
  const ids = new LeaseIds(() => facts.wall, { next: () => (chance *= 0.9) });
  return { facts, ids };
}

describe('the id of a lease', () => {
  it('is 26 characters of the alphabet, and greater as text than those before, also in one millisecond', () => {
    const { facts, ids } = world();
    const made = [ids.next(), ids.next(), ids.next()];
    facts.wall += 1000;
    made.push(ids.next());
    assert.ok(made.every((id) => /^[0-9a-z]{26}$/.test(id)));
    assert.deepEqual(made.toSorted(), made);
    assert.equal(new Set(made.map((id) => id.slice(0, 10))).size, 4, 'their times differ');
  });

  it('is greater where the wall clock is set back', () => {
    const { facts, ids } = world();
    const before = ids.next();
    facts.wall -= HOUR_MS;
    assert.ok(ids.next() > before);
  });

  it('is greater than those of an earlier life, whatever its clock said', () => {
    const earlier = world();
    earlier.facts.wall += 24 * HOUR_MS;
    const tomorrows = earlier.ids.next();
    const { ids } = world();
    ids.seen(tomorrows);
    assert.ok(ids.next() > tomorrows);
  });
});
