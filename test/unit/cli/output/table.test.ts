import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { table } from '../../../../src/cli/output/table.js';
import { widthOf } from '../../../../src/cli/output/text.js';
import { painter } from '../../../../src/cli/output/tones.js';

const plain = painter(false);
const columns = [
  { title: 'NAME', of: (row: { name: string; count: number }) => row.name },
  { title: 'COUNT', of: (row: { name: string; count: number }) => row.count },
  { title: 'AGAIN', of: (row: { name: string; count: number }) => row.name },
];

describe('table', () => {
  it('aligns columns below their titles, numbers on the right, wide characters by their width', () => {
    const rows = [
      { name: 'a', count: 7 },
      { name: '漢字', count: 12345 },
    ];
    assert.equal(
      table(columns, rows, plain),
      ['NAME  COUNT  AGAIN', 'a         7  a', '漢字  12345  漢字', ''].join('\n'),
    );
  });

  it('gives one line for each row with any cells', () => {
    const rows = fc.array(fc.record({ name: fc.string({ unit: 'binary' }), count: fc.nat() }));
    fc.assert(
      fc.property(rows, (given) => {
        assert.equal(table(columns, given, plain).split('\n').length, given.length + 2);
      }),
    );
  });

  it('cuts a cell that would fill the screen', () => {
    const [, line] = table([{ title: 'N', of: String }], ['x'.repeat(10_000)], plain).split('\n');
    assert.ok(widthOf(line ?? '') <= 120);
    assert.match(line ?? '', /…$/);
  });

  it('gives only titles where there are no rows', () => {
    assert.equal(table(columns, [], plain), 'NAME  COUNT  AGAIN\n');
  });

  it('colours cells without moving them', () => {
    const toned = [{ title: 'S', of: (row: string) => row, tone: () => 'bad' as const }];
    assert.equal(table(toned, ['down'], painter(true)), 'S\n\u001b[31mdown\u001b[39m\n');
  });
});
