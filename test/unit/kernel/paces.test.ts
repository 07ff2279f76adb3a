import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Paces } from '../../../src/kernel/paces.js';

const FIGURES = { burst: 10, intervalMs: 10 };
const takes = (paces: Paces<number>, key: number, now: number, times: number): number =>
  Array.from({ length: times }, () => paces.take(key, now)).filter(Boolean).length;

void describe('the paces of several', () => {
  void it('are so many turns at once and then one each interval, for each by itself', () => {
    const paces = new Paces<number>(FIGURES);
    assert.equal(takes(paces, 1, 0, 50), 10);
    assert.equal(takes(paces, 2, 0, 50), 10);
    assert.equal(takes(paces, 3, 0, 50), 10);
    assert.equal(takes(paces, 1, 50, 50), 5);
    assert.equal(takes(paces, 1, 10_050, 50), 10);
  });

  void it('cannot be had anew by coming back as another while the old one is remembered', () => {
    const paces = new Paces<number>(FIGURES);
    assert.equal(takes(paces, 1, 0, 11), 10);
    for (let other = 2; other < 1_000; other++) paces.take(other, 0);
    assert.equal(paces.take(1, 0), false);
  });

  void it('are remembered of the last 1,024 that asked, refused or not', () => {
    const paces = new Paces<number>(FIGURES);
    assert.equal(takes(paces, 1, 0, 11), 10);
    for (let other = 2; other < 1_025; other++) paces.take(other, 0);
    assert.equal(paces.take(1, 0), false);
    for (let other = 2_000; other < 3_024; other++) paces.take(other, 0);
    assert.equal(takes(paces, 1, 0, 11), 10);
  });

  void it('say how long a turn that is booked has to wait, and take it back', () => {
    const paces = new Paces<number>(FIGURES);
    assert.equal(takes(paces, 1, 0, 10), 10);
    assert.equal(paces.waitMs(1, 0), 10);
    const { waitMs, giveBack } = paces.book(1, 0);
    assert.deepEqual([waitMs, paces.waitMs(1, 0), paces.waitMs(2, 0)], [10, 20, 0]);
    giveBack();
    assert.equal(paces.waitMs(1, 0), 10);
  });
});
