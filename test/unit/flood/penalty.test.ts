import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CLEAN, exceed, quarantineLeftMs, settle, type Penalty } from '../../../src/flood/penalty.js';
import type { PenaltySettings } from '../../../src/model/settings.js';

const SETTINGS: PenaltySettings = { strikes: 3, windowMs: 60_000, quarantineMs: 60_000, factor: 2, maxMs: 600_000 };

/** Exceeds at each of the times and gives the last record. */
function after(timesMs: readonly number[], from: Penalty = CLEAN): Penalty {
  return timesMs.reduce((penalty, atMs) => exceed(penalty, atMs, SETTINGS, 'enforce').penalty, from);
}

describe('penalty', () => {
  it('forgives the first exceeding of a window', () => {
    const first = exceed(CLEAN, 0, SETTINGS, 'enforce');
    assert.ok(!first.isStrike);
    assert.deepEqual(first.penalty.strikesAtMs, []);
    const later = exceed(first.penalty, 60_000, SETTINGS, 'enforce');
    assert.ok(!later.isStrike, 'a window later it is the first again');
  });

  it('makes each further exceeding of a window a strike', () => {
    assert.deepEqual(after([0, 10, 20]).strikesAtMs, [10, 20]);
  });

  it('is none where it is off: nothing is a strike, and strikes from before are forgotten', () => {
    const off = { ...SETTINGS, strikes: 0 };
    const before = after([0, 10, 20, 30]);
    assert.equal(settle(before, 40, off), CLEAN);
    for (let atMs = 0; atMs < 100; atMs += 1) {
      assert.deepEqual(exceed(before, atMs, off, 'enforce'), {
        penalty: CLEAN,
        isStrike: false,
        quarantineMs: undefined,
      });
    }
  });

  it('begins a quarantine with the last strike of a window', () => {
    const last = exceed(after([0, 10, 20]), 30, SETTINGS, 'enforce');
    assert.equal(last.quarantineMs, 60_000);
    assert.equal(quarantineLeftMs(last.penalty, 30), 60_000);
    assert.equal(quarantineLeftMs(last.penalty, 60_029), 1);
    assert.equal(quarantineLeftMs(last.penalty, 60_030), 0);
  });

  it('begins none when the strikes are spread over more than a window', () => {
    const spread = after([0, 30_000, 60_000, 90_000, 120_000, 150_000]);
    assert.equal(quarantineLeftMs(spread, 150_000), 0);
  });

  it('does not lengthen a quarantine for calls that are made inside it', () => {
    const quarantined = after([0, 1, 2, 3]);
    const knocked = after(
      Array.from({ length: 500 }, (_, index) => 100 + index),
      quarantined,
    );
    assert.equal(quarantineLeftMs(knocked, 1_000), quarantineLeftMs(quarantined, 1_000));
  });

  it('makes each quarantine longer than the one before, up to the longest', () => {
    let penalty = CLEAN;
    let nowMs = 0;
    const lengths: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      penalty = after([nowMs, nowMs, nowMs, nowMs], penalty);
      lengths.push(quarantineLeftMs(penalty, nowMs));
      nowMs += quarantineLeftMs(penalty, nowMs);
    }
    assert.deepEqual(lengths, [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
  });

  it('begins with the shortest again after the longest has passed without another', () => {
    const again = (pauseMs: number): number => {
      const nowMs = 60_003 + pauseMs;
      return quarantineLeftMs(after([nowMs, nowMs, nowMs, nowMs], after([0, 1, 2, 3])), nowMs);
    };
    assert.equal(again(599_999), 120_000);
    assert.equal(again(600_000), 60_000);
  });

  it('counts strikes and names the quarantine in observe mode, but never begins one', () => {
    let penalty = CLEAN;
    const would: (number | undefined)[] = [];
    for (let nowMs = 0; nowMs < 7; nowMs += 1) {
      const seen = exceed(penalty, nowMs, SETTINGS, 'observe');
      penalty = seen.penalty;
      would.push(seen.quarantineMs);
      assert.equal(quarantineLeftMs(penalty, nowMs), 0);
    }
    assert.deepEqual(would, [undefined, undefined, undefined, 60_000, undefined, undefined, 60_000]);
  });

  it('is clean again when all of it is over', () => {
    assert.equal(settle(after([0, 1]), 60_001, SETTINGS), CLEAN);
    assert.notEqual(settle(after([0, 1, 2, 3]), 60_003, SETTINGS), CLEAN, 'the growth is still remembered');
    assert.equal(settle(after([0, 1, 2, 3]), 660_003, SETTINGS), CLEAN);
  });

  it('stays bounded and never keeps anybody out longer than the longest, in any order of events', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 200 }), (steps) => {
        let nowMs = 0;
        let penalty = CLEAN;
        for (const pauseMs of steps) {
          nowMs += pauseMs;
          penalty = exceed(penalty, nowMs, SETTINGS, 'enforce').penalty;
          assert.ok(penalty.strikesAtMs.length < SETTINGS.strikes);
          assert.ok(quarantineLeftMs(penalty, nowMs) <= SETTINGS.maxMs);
        }
      }),
    );
  });
});
