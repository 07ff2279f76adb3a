import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { PackedPieces } from '../../../../src/platform/http/packed-pieces.js';

void describe('a body that is packed piece by piece', () => {
  void it('is one member of gzip with all pieces in their order, packed before or not', async () => {
    const packed = new PackedPieces();
    const noise = Buffer.from(Array.from({ length: 200_000 }, (_, nth) => (nth * nth * 31) % 251));
    const [first, second] = [Buffer.from('first, '.repeat(9000)), Buffer.from('second')];
    for (const pieces of [[], [first], [first, second], [second, noise, first], [Buffer.alloc(0), first]]) {
      const whole = Buffer.concat(pieces);
      const bytes = await packed.gzip(pieces);
      assert.deepEqual(gunzipSync(bytes), whole);
      // A browser reads the first member and nothing behind it: the blocks behind its head end with the last of all.
      assert.deepEqual(inflateRawSync(bytes.subarray(10)), whole);
    }
  });

  void it('is much smaller than rows that repeat themselves', async () => {
    const piece = Buffer.from(
      Array.from({ length: 64 }, (_, nth) => `{"name":"example.com/gpu-${String(nth)}","state":"ready"}`).join(','),
    );
    assert.ok((await new PackedPieces().gzip([piece, piece])).length * 4 < 2 * piece.length);
  });
});
