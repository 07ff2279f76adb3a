import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { hasUnseen, visible } from '../../../../src/kernel/visible.js';
import { documentText } from '../../../../src/cli/output/format.js';
import { cut, pad, visibleJson, widthOf } from '../../../../src/cli/output/text.js';

/** Text with everything that could steer a terminal. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\n', '\r', '\u001b[2J', '\u009b1m', '\u202e', '\u200d', '\ud800', '漢', '👩‍👩‍👧', 'é', '\u0301'),
  ),
});

describe('visible', () => {
  const rows = [
    { text: 'plain', then: 'plain' },
    { text: 'a\nb', then: 'a\\nb' },
    { text: '\u001b[31mred', then: '\\u{1b}[31mred' },
    { text: 'gpu\u202eupg', then: 'gpu\\u{202e}upg' },
    { text: 'half \ud83d', then: 'half \\u{d83d}' },
    { text: '漢字', then: '漢字' },
    { text: 'g\u00adp\u061cu\u180e', then: 'g\\u{ad}p\\u{61c}u\\u{180e}' },
    { text: `g${'\u0301'.repeat(10)}`, then: `g${'\u0301'.repeat(8)}\\u{301}\\u{301}` },
    { text: '\u2066g\u{e0067}\u3164\u034f', then: '\\u{2066}g\\u{e0067}\\u{3164}\\u{34f}' },
  ];
  for (const { text, then } of rows) {
    it(`makes ${then} of ${JSON.stringify(text)}`, () => {
      assert.equal(visible(text), then);
    });
  }

  it('leaves nothing that could steer a terminal in any text', () => {
    fc.assert(fc.property(hostile, (text) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|\p{M}{9}/u.test(visible(text))));
  });
});

describe('visibleJson', () => {
  it('gives the same value, and no character that could steer a terminal', () => {
    fc.assert(
      fc.property(fc.array(hostile), fc.boolean(), (texts, oneLine) => {
        const json = visibleJson(texts, oneLine);
        assert.deepEqual(JSON.parse(json), texts);
        assert.equal(hasUnseen(json.replaceAll('\n', '')), false);
      }),
    );
  });

  it('leaves nothing that nobody sees, whichever character it is, nor does YAML', async () => {
    const unseen = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code)).filter(hasUnseen);
    assert.ok(unseen.length > 4_000);
    for (const text of [visibleJson(unseen, true), await documentText(unseen, 'yaml', false)]) {
      assert.equal(hasUnseen(text.replaceAll('\n', '')), false);
      assert.deepEqual(parse(text), unseen);
    }
    for (const name of ['g\u00ad', 'u\u{e0067}', `g${'\u0301'.repeat(1_000)}`]) {
      const text = await documentText({ name }, 'yaml', false);
      assert.equal(hasUnseen(text.replaceAll('\n', '')), false);
      assert.deepEqual(parse(text), { name });
    }
  });

  it('puts a whole value on one line when asked to', () => {
    assert.doesNotMatch(visibleJson({ a: ['b\nc'], d: {} }, true), /\n/);
  });
});

describe('cut', () => {
  it('never gives more columns than asked for, and leaves what fits', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 40 }), (raw, columns) => {
        const text = visible(raw);
        const short = cut(text, columns);
        assert.ok(widthOf(short) <= columns, `${widthOf(short)} of ${columns}`);
        if (widthOf(text) <= columns) assert.equal(short, text);
      }),
    );
  });

  it('marks where something was cut', () => {
    assert.equal(cut('漢字漢字', 5), '漢字…');
  });
});

describe('pad', () => {
  it('fills to the width on the screen, not to the number of characters', () => {
    assert.equal(pad('漢', 4, 'left'), '漢  ');
    assert.equal(pad('7', 3, 'right'), '  7');
  });
});
