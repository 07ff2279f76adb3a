import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counted } from '../../../../src/kernel/counted.js';
import { ago, bytes, duration, until } from '../../../../src/cli/output/amounts.js';

describe('duration', () => {
  const rows = [
    { ms: -5, then: '0ms' },
    { ms: 0, then: '0ms' },
    { ms: 999, then: '999ms' },
    { ms: 1_000, then: '1s' },
    { ms: 59_999, then: '59s' },
    { ms: 60_000, then: '1m' },
    { ms: 192_000, then: '3m12s' },
    { ms: 3_600_000, then: '1h' },
    { ms: 90_000_000, then: '1d1h' },
    { ms: 86_400_000 * 400, then: '400d' },
  ];
  for (const { ms, then } of rows) {
    it(`is ${then} for ${ms} ms`, () => assert.equal(duration(ms), then));
  }
});

describe('times relative to now', () => {
  const now = Date.parse('2030-01-01T00:01:00Z');
  it('say how long ago something was', () => assert.equal(ago('2030-01-01T00:00:00Z', now), '1m'));
  it('give no negative age after the clock was set back', () => assert.equal(ago('2030-01-01T00:02:00Z', now), '0ms'));
  it('say nothing of a time that does not apply', () => assert.equal(ago('', now), '-'));
  it('say how long a quarantine lasts', () => assert.equal(until('2030-01-01T00:01:45Z', now), '45s'));
  it('say nothing of a quarantine that is over', () => assert.equal(until('2030-01-01T00:00:00Z', now), '-'));
});

describe('sizes and counts', () => {
  it('have units that fit', () => {
    assert.deepEqual([bytes(-1), bytes(999), bytes(12_300), bytes(5_000_000)], ['-', '999 B', '12.3 kB', '5.0 MB']);
  });
  it('agree with their noun', () =>
    assert.deepEqual([counted(1, 'plugin'), counted(0, 'plugin')], ['1 plugin', '0 plugins']));
});
