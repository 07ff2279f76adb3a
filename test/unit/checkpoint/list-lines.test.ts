import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ListLines } from '../../../src/checkpoint/list-lines.js';

interface Item {
  readonly text: string;
}

/** One step from a list to the next: some items go, some are replaced, some come at the end, or the order is another one. */
const step = fc.record({
  gone: fc.array(fc.nat(20), { maxLength: 4 }),
  replaced: fc.array(fc.nat(20), { maxLength: 4 }),
  added: fc.array(fc.string({ maxLength: 5 }), { maxLength: 4 }),
  isTurned: fc.boolean(),
});

describe('the lines of a list', () => {
  it('are those of its items, with any list before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const lines = new ListLines<Item>(({ text }) => JSON.stringify(text));
        let items: readonly Item[] = [];
        for (const { gone, replaced, added, isTurned } of steps) {
          items = items
            .filter((_, at) => !gone.includes(at))
            .map((item, at) => (replaced.includes(at) ? { text: `${item.text}'` } : item))
            .concat(added.map((text) => ({ text })));
          if (isTurned) items = items.toReversed();
          const { pieces, ends } = lines.pieces(items);
          const bytes = Buffer.concat(pieces);
          const each = items.map(({ text }) => JSON.stringify(text));
          assert.equal(bytes.toString(), each.join(',\n'));
          assert.deepEqual(
            ends.map((end, at) => bytes.toString('utf8', at === 0 ? 0 : (ends[at - 1] ?? 0) + 2, end)),
            each,
          );
          lines.placed(items, ends, bytes);
        }
      }),
    );
  });

  it('are copied in one piece where nothing changed, and in two beside one that is gone', () => {
    let made = 0;
    const lines = new ListLines<Item>(({ text }) => `${text}${String((made += 1))}`);
    const items = ['a', 'b', 'c', 'd'].map((text) => ({ text }));
    const first = lines.pieces(items);
    const bytes = Buffer.concat(first.pieces);
    lines.placed(items, first.ends, bytes);
    assert.equal(lines.pieces(items).pieces.length, 1);
    const rest = items.filter(({ text }) => text !== 'b');
    assert.deepEqual(
      lines.pieces(rest).pieces.map((piece) => Buffer.from(piece).toString()),
      ['a1', ',\n', 'c3,\nd4'],
    );
    assert.equal(made, 4);
  });
});
