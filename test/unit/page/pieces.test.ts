import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pieces } from '../../../src/page/pieces.js';

const textOf = (pieces: readonly Buffer[]): string => Buffer.concat(pieces).toString();
const rows = (count: number): string[] => Array.from({ length: count }, (_, nth) => `{"row":${String(nth)}}`);

void describe('the pieces of a picture', () => {
  void it('are the texts with commas between them, however many there are', async () => {
    for (const count of [0, 1, 63, 64, 65, 1000]) {
      const pieces = await new Pieces(() => undefined).of('plugins', rows(count));
      assert.equal(textOf(pieces), rows(count).join(','), String(count));
    }
  });

  void it('are the same objects as before but for those in which a text changed', async () => {
    const pieces = new Pieces(() => undefined);
    const before = await pieces.of('plugins', rows(1000));
    const changed = rows(1000).map((row, nth) => (nth === 500 ? '{"row":"new"}' : row));
    const after = await pieces.of('plugins', changed);
    assert.equal(textOf(after), changed.join(','));
    assert.equal(after.filter((piece, nth) => piece !== before[nth]).length, 1);
    pieces.clear();
    assert.ok((await pieces.of('plugins', changed)).every((piece) => !after.includes(piece)));
  });

  void it('gain and lose rows', async () => {
    const pieces = new Pieces(() => undefined);
    for (const count of [1000, 130, 128, 900, 0]) {
      assert.equal(textOf(await pieces.of('plugins', rows(count))), rows(count).join(','));
    }
  });
});
