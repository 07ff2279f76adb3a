import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { IdIndex, NEW, NOTES, randomKeys } from '../../../../src/platform/wire/id-index.js';

/** With these all ids have the same hash. */
const BLIND = new Int32Array(257);

/** Compares the answers of `put` for each id in turn; two passes, the second with the healths turned around. */
function agrees(ids: readonly string[], keys: Int32Array, maxIds = ids.length): void {
  const bytes = Buffer.from(`-${ids.join('')}`);
  const index = new IdIndex(bytes, maxIds, keys);
  const notes = new Map<string, number>();
  for (const turned of [false, true]) {
    let start = 1;
    ids.forEach((id, at) => {
      const end = start + Buffer.byteLength(id);
      const isHealthy = (at % 3 === 0) !== turned;
      const before = notes.get(id);
      assert.equal(index.put(start, end, isHealthy), before ?? NEW, `${id} at ${String(at)}`);
      notes.set(id, (isHealthy ? NOTES.HEALTHY : 0) | (before === undefined ? 0 : NOTES.REPEATED));
      start = end;
    });
  }
  assert.equal(index.size, notes.size);
}

describe('an index of ids', () => {
  const id = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }),
    fc.constantFrom('a', 'b', '\u0000', '\u0000\u0000', 'é', 'x'.repeat(256), `${'x'.repeat(255)}y`),
  );

  it('knows what was put before, by the bytes alone', () => {
    fc.assert(fc.property(fc.array(id, { maxLength: 80 }), (ids) => agrees(ids, randomKeys())));
  });

  it('tells ids apart that have the same hash', () => {
    fc.assert(fc.property(fc.array(id, { maxLength: 80 }), (ids) => agrees(ids, BLIND)));
    agrees(
      Array.from({ length: 1000 }, (_, at) => String(10_000 + at)),
      BLIND,
    );
  });

  it('grows with its ids, however few it was made for', () => {
    const ids = Array.from({ length: 20_000 }, (_, at) => `device-${String(at)}`);
    for (const maxIds of [1, 20_000, Infinity]) agrees(ids, randomKeys(), maxIds);
  });

  it('has other keys each time', () => {
    assert.notDeepEqual(randomKeys(), randomKeys());
    assert.equal(randomKeys().length, BLIND.length);
  });
});
