import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cutWritten, fitsWritten } from '../../../src/kernel/written.js';

const written = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\u0001', '"', 'a', '🚀', '\u2028') }),
);

describe('a text as it is written', () => {
  it('is counted with what its control characters and quotes take', () => {
    assert.ok(fitsWritten('a'.repeat(1024), 1024));
    assert.ok(!fitsWritten('a'.repeat(1025), 1024));
    assert.ok(!fitsWritten('\u0001'.repeat(171), 1024));
    assert.equal(cutWritten('\u0001'.repeat(4096), 1024).length, 170);
    assert.equal(cutWritten('"'.repeat(4096), 1024).length, 512);
  });

  it('is cut to its beginning, takes no more than it may, and no character of it is cut in two', () => {
    fc.assert(
      fc.property(anyText, fc.nat(200), (text, most) => {
        const cut = cutWritten(text, most);
        assert.ok(text.startsWith(cut) && written(cut) <= most);
        assert.equal(fitsWritten(text, most), fitsWritten(text, most) && cut === text);
        if (written(text) > most) assert.ok(!fitsWritten(text, most));
      }),
    );
    assert.equal(cutWritten('a🚀', 7), 'a');
  });
});
