import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../../src/model/ids.js';
import { CallerRates } from '../../../src/podresources/caller-rates.js';
import { FakeClock } from '../../support/fake-clock.js';

const caller = (pid: number): Caller => ({ uid: 0, gid: 0, pid, startTime: '1', source: 'peercred' });
const takes = (rates: CallerRates, who: Caller | undefined, times: number): number =>
  Array.from({ length: times }, () => rates.take(who)).filter(Boolean).length;

describe('the rate of PodResources callers', () => {
  it('is ten at once and a hundred a second, for each process by itself', async () => {
    const clock = new FakeClock();
    const rates = new CallerRates(() => clock.mono());
    assert.equal(takes(rates, caller(1), 50), 10);
    assert.equal(takes(rates, caller(2), 50), 10);
    assert.equal(takes(rates, undefined, 50), 10);
    await clock.advance(50);
    assert.equal(takes(rates, caller(1), 50), 5);
    await clock.advance(10_000);
    assert.equal(takes(rates, caller(1), 50), 10);
  });

  it('cannot be had anew by coming back with another pid while the old one is remembered', () => {
    const rates = new CallerRates(() => 0);
    assert.equal(takes(rates, caller(1), 11), 10);
    for (let pid = 2; pid < 1_000; pid++) rates.take(caller(pid));
    assert.equal(rates.take(caller(1)), false);
  });
});
