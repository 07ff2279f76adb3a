import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import type { ConfigProblem } from '../../../src/config/problem.js';
import { durationMs, resolveSection, sizeBytes } from '../../../src/config/units.js';

describe('durations and sizes', () => {
  it('a duration is a whole number and a unit', () => {
    assert.deepEqual(['250ms', '2s', '5m', '1h', '0s'].map(durationMs), [250, 2000, 300_000, 3_600_000, 0]);
    assert.deepEqual(['2', '1.5s', '-1s', '2 s', '2d', ''].map(durationMs), Array(6).fill(undefined));
  });

  it('a size is bytes or binary multiples', () => {
    assert.deepEqual([17, '1KiB', '16MiB', '2GiB'].map(sizeBytes), [17, 1024, 2 ** 24, 2 ** 31]);
    assert.equal(sizeBytes('16MB'), undefined);
  });

  it('a section becomes settings with units in their names, and the rest stays', () => {
    const problems: ConfigProblem[] = [];
    const section = resolveSection({ interval: '2s', burst: 5, onExceed: 'delay', headerBytes: '1KiB' }, [], problems);
    assert.deepEqual(section, { intervalMs: 2000, burst: 5, onExceed: 'delay', headerBytes: 1024 });
    assert.deepEqual(problems, []);
  });

  it('a duration that no timer can hold is a problem with its path', () => {
    const problems: ConfigProblem[] = [];
    resolveSection({ penalty: { max: '597h' } }, ['flood'], problems);
    assert.deepEqual(
      problems.map(({ path }) => path),
      [['flood', 'penalty', 'max']],
    );
  });
});
