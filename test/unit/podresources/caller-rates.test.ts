import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CallerRates } from '../../../src/podresources/caller-rates.js';
import { processOf } from '../../support/flood-world.js';

const MEGABYTE = 1024 * 1024;

function rates(): CallerRates {
  return new CallerRates({ ownUid: 0, userOf: (uid) => uid });
}

describe('the rates of callers of PodResources', () => {
  it('are those of a kubelet for each process', () => {
    const all = rates();
    const answered = (pid: number): number =>
      Array.from({ length: 12 }, () => all.take(processOf(pid, 4001), 0)).filter(Boolean).length;
    assert.deepEqual([answered(1), answered(2)], [10, 10]);
    assert.equal(all.take(processOf(1, 4001), 10), true);
  });

  it('count the bytes that all processes of an ordinary user are answered with, and of root none', () => {
    const all = rates();
    for (let pid = 1; pid <= 17; pid += 1) {
      all.give(processOf(pid, 4001), MEGABYTE, 0);
      all.give(processOf(pid, 0), MEGABYTE, 0);
    }
    assert.equal(all.take(processOf(18, 4001), 0), false);
    assert.equal(all.take(processOf(18, 4002), 0), true);
    assert.equal(all.take(processOf(18, 0), 0), true);
    assert.equal(all.take(processOf(18, 4001), 1_000), true);
  });

  it('let no more answers go than are paid, however many callers waited for them', () => {
    const all = rates();
    const pids = Array.from({ length: 100 }, (_, pid) => pid + 1);
    assert.ok(pids.every((pid) => all.take(processOf(pid, 4001), 0)));
    const given = pids.filter((pid) => all.give(processOf(pid, 4001), MEGABYTE, 0));
    assert.equal(given.length, 16);
    assert.equal(pids.filter((pid) => all.give(processOf(pid, 0), MEGABYTE, 0)).length, 100);
  });
});
