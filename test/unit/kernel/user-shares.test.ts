import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fullShareFor, type Sharer } from '../../../src/kernel/user-shares.js';

const times = (count: number, holder: Sharer): Sharer[] => Array.from({ length: count }, () => holder);

void describe('places that users share', () => {
  void it('are a quarter for one user, and for all whose user is unknown together', () => {
    for (const one of [4001, 'unknown'] as const) {
      assert.equal(fullShareFor(one, times(3, one), 16), undefined);
      const full = fullShareFor(one, [...times(4, one), undefined], 16);
      assert.deepEqual([full?.of, full?.places], ['own', 4]);
      assert.deepEqual(
        [one, 4002, undefined].map((holder) => full?.has(holder)),
        [true, false, false],
      );
      assert.equal(fullShareFor(4002, times(4, one), 16), undefined);
    }
  });

  void it('are three quarters for all ordinary users', () => {
    const holders = [1, 2, 3, 'unknown'].flatMap((one) => times(3, one as Sharer));
    assert.equal(fullShareFor(5, holders.slice(1), 16), undefined);
    const full = fullShareFor(5, holders, 16);
    assert.deepEqual([full?.of, full?.places], ['ordinary', 12]);
    assert.deepEqual(
      [1, 'unknown', undefined].map((one) => full?.has(one as Sharer)),
      [true, true, false],
    );
    assert.equal(fullShareFor(undefined, holders, 16), undefined);
  });

  void it('are all there for those who have no share, which keep an ordinary user out only when none is left', () => {
    assert.equal(fullShareFor(undefined, times(15, undefined), 16), undefined);
    assert.equal(fullShareFor(4001, times(15, undefined), 16), undefined);
    for (const newcomer of [undefined, 4001, 'unknown'] as const) {
      const full = fullShareFor(newcomer, times(16, undefined), 16);
      assert.deepEqual([full?.of, full?.places, full?.has(undefined), full?.has(4001)], ['all', 16, true, true]);
    }
  });
});
