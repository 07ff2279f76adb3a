import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cut } from '../../../src/kernel/cut.js';
import { usedBytes } from '../../support/used-memory.js';

describe('text that is cut', () => {
  it('is its beginning, and the text itself where it is short enough', () => {
    assert.equal(cut('plugin', 6), 'plugin');
    assert.equal(cut('plugin', 3), 'plu');
    assert.equal(cut('', 0), '');
    assert.equal(cut('ü€ı', 2), 'ü€');
    assert.equal(cut('a\u{1F600}', 2).length, 2, 'half a character is one that stands for it');
  });

  it('does not keep the whole text in memory', () => {
    const before = usedBytes();
    const kept = Array.from({ length: 500 }, (_, at) => cut(Buffer.alloc(100_000, `${String(at)} `).toString(), 160));
    assert.ok(usedBytes() - before < 10e6, 'of 50 MB');
    assert.equal(kept.length, 500);
  });
});
