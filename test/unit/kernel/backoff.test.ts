import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backoffMs } from '../../../src/kernel/backoff.js';

void describe('backoffMs', () => {
  const bounds = { firstMs: 100, maxMs: 1000 };
  const rows = [
    { attempt: 1, random: 0.5, then: 50 },
    { attempt: 2, random: 0.5, then: 100 },
    { attempt: 4, random: 0.5, then: 400 },
    { attempt: 5, random: 0.5, then: 500 },
    { attempt: 1000, random: 0.999, then: 999 },
    { attempt: 3, random: 0, then: 0 },
  ];
  for (const { attempt, random, then } of rows) {
    void it(`waits ${String(then)} ms after attempt ${String(attempt)} with ${String(random)}`, () => {
      assert.equal(backoffMs(attempt, bounds, random), then);
    });
  }
});
