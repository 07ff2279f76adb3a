import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { message } from '../../../../src/platform/wire/codec.js';
import {
  AllocateResponse,
  Empty,
  RegisterRequest,
} from '../../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { WireError } from '../../../../src/platform/wire/wire-error.js';

const Inner = message('test.Inner', { text: [1, 'string'], number: [2, 'int32'] });
const Everything = message('test.Everything', {
  text: [1, 'string'],
  raw: [2, 'bytes'],
  flag: [3, 'bool'],
  small: [4, 'int32'],
  big: [5, 'int64'],
  huge: [6, 'bigint'],
  natural: [7, 'uint32'],
  choice: [8, 'enum'],
  inner: [9, Inner],
  maybe: [10, 'optional', 'string'],
  numbers: [11, 'repeated', 'int32'],
  words: [12, 'repeated', 'string'],
  inners: [13, 'repeated', Inner],
  byName: [14, 'map', Inner],
  labels: [200, 'map', 'string'],
});
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const refuses = (bytes: string, pattern: RegExp): void => {
  assert.throws(
    () => Everything.decode(hex(bytes)),
    (problem) => problem instanceof WireError && pattern.test(problem.message),
  );
};

describe('decoding', () => {
  it('gives zeros, empty lists and undefined messages for what was not sent', () => {
    assert.deepEqual(Everything.decode(Buffer.alloc(0)), {
      text: '',
      raw: Buffer.alloc(0),
      flag: false,
      small: 0,
      big: 0,
      huge: 0n,
      natural: 0,
      choice: 0,
      inner: undefined,
      maybe: undefined,
      numbers: [],
      words: [],
      inners: [],
      byName: new Map(),
      labels: new Map(),
    });
  });

  it('takes the last of several values and merges the parts of a message', () => {
    assert.equal(Everything.decode(hex('0a0161 0a0162')).text, 'b');
    assert.deepEqual(Everything.decode(hex('4a03 0a0161 4a02 1007')).inner, { text: 'a', number: 7 });
  });

  it('takes numbers packed, one by one, and mixed', () => {
    assert.deepEqual(Everything.decode(hex('58 01 5a 02 02 03 58 04')).numbers, [1, 2, 3, 4]);
  });

  it('reads no more fields and packed numbers than it is told to, at all levels together', () => {
    const bytes = hex('5a 03 010203  58 04  62 0161 62 0162  6a 00 6a 00  72 00  c20c 00');
    assert.equal(Everything.decode(bytes, 11).words.length, 2);
    for (let most = 0; most < 11; most += 1) {
      assert.throws(
        () => Everything.decode(bytes, most),
        (problem) => problem instanceof WireError && problem.message.includes('more values than are read'),
        String(most),
      );
    }
    const nested = AllocateResponse.encode({
      containerResponses: [{ mounts: Array.from({ length: 9 }, () => ({ hostPath: '/a', containerPath: '/a' })) }],
    });
    assert.equal(AllocateResponse.decode(nested, 28).containerResponses[0]?.mounts.length, 9);
    assert.throws(() => AllocateResponse.decode(nested, 27), WireError);
  });

  it('counts fields that come again, in an entry of a map too, and those it does not know', () => {
    for (const again of ['0a00', '2001', '0a0178', 'a00105', '4a020a00', '720c 0a00 0a00 0a00 1200 1200 1200']) {
      const bytes = Buffer.concat(Array.from({ length: 200 }, () => hex(again)));
      assert.doesNotThrow(() => Everything.decode(bytes), again);
      assert.throws(
        () => Everything.decode(bytes, 199),
        (problem) => problem instanceof WireError && problem.message.includes('more values than are read'),
        again,
      );
    }
    const entry = Buffer.concat([hex('720c'), ...Array.from({ length: 6 }, () => hex('0a00'))]);
    assert.equal(Everything.decode(entry, 7).byName.size, 1);
    assert.throws(() => Everything.decode(entry, 6), WireError);
  });

  it('skips fields it does not know and fields framed in another way', () => {
    const unknown = 'a001 05 a101 0102030405060708 a201 02 ffff a501 01020304';
    assert.equal(Everything.decode(hex(`${unknown} 0a0161 ${unknown}`)).text, 'a');
    assert.equal(Everything.decode(hex('08 05')).text, '');
  });

  it('refuses groups, closed or not', () => {
    refuses('a301 a401', /framing/);
    refuses('a301'.repeat(50_000), /framing/);
  });

  it('refuses text that is not UTF-8 and keeps a replacement character that was sent', () => {
    for (const bad of ['ff', 'c080', 'eda080', 'f4908080', 'e282']) {
      refuses(
        `0a ${(bad.length / 2).toString(16).padStart(2, '0')} ${bad}`,
        /^test\.Everything\.text is not valid UTF-8$/,
      );
    }
    assert.equal(Everything.decode(hex('0a 03 efbfbd')).text, '\ufffd');
  });

  it('refuses lengths and numbers beyond the end, naming the field', () => {
    refuses('0a 05 61', /Everything\.text claims more bytes/);
    refuses('4a 02 0a 05 61', /Inner\.text claims more bytes/);
    refuses('4a 02 0a 05 6161616161', /Inner\.text claims more bytes/);
    refuses('0a 8180808010 61', /Everything\.text claims more bytes/);
    refuses('20 ff', /Everything\.small ends in the middle/);
    refuses('0a ffffffffffffffffff01', /claims more bytes/);
    refuses(`20 ${'ff'.repeat(10)} 00`, /more than ten bytes/);
    refuses('00 00', /impossible field number/);
    refuses('a101 0102', /ends in the middle/);
  });

  it('reads numbers at their limits as the specification says', () => {
    assert.equal(Everything.decode(hex('20 ffffffffffffffffff01')).small, -1);
    assert.equal(Everything.decode(hex('20 8080808010')).small, 0);
    assert.equal(Everything.decode(hex('38 ffffffff0f')).natural, 4_294_967_295);
    assert.equal(Everything.decode(hex('30 ffffffffffffffff7f')).huge, 9_223_372_036_854_775_807n);
    assert.equal(Everything.decode(hex('30 80808080808080808001')).huge, -9_223_372_036_854_775_808n);
    assert.equal(Everything.decode(hex('18 80808080808080808001')).flag, true);
    refuses('28 ffffffffffffffff7f', /Everything\.big is too large/);
  });

  it('gives bytes as a copy that outlives the message', () => {
    const bytes = hex('12 01 61');
    const { raw } = Everything.decode(bytes);
    bytes.fill(0);
    assert.equal(raw.toString(), 'a');
  });

  it('takes names that are traps in JavaScript as plain map keys', () => {
    const labels = new Map([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['', 'c'],
    ]);
    assert.deepEqual(Everything.decode(Everything.encode({ labels })).labels, labels);
    assert.equal(({} as Record<string, unknown>)['a'], undefined);
  });

  it('gives a map entry without key or value their zeros', () => {
    assert.deepEqual(Everything.decode(hex('72 00')).byName, new Map([['', { text: '', number: 0 }]]));
    assert.deepEqual(Everything.decode(hex('c20c 03 120161')).labels, new Map([['', 'a']]));
  });

  it('never throws anything but WireError on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          Everything.decode(bytes);
        } catch (problem) {
          assert.ok(problem instanceof WireError, String(problem));
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('encoding', () => {
  it('leaves out zeros, but not an optional field that is set', () => {
    assert.deepEqual(
      Everything.encode({ text: '', small: 0, flag: false, huge: 0n, numbers: [], maybe: undefined }),
      hex(''),
    );
    assert.deepEqual(Everything.encode({ maybe: '', inner: {} }), hex('4a00 5200'));
  });

  it('writes fields in the order of the table and numbers packed', () => {
    assert.deepEqual(Everything.encode({ numbers: [1, -1], text: 'a' }), hex('0a0161 5a0b 01 ffffffffffffffffff01'));
  });

  it('carries what outgrows its first buffer', () => {
    const words = Array.from({ length: 2_000 }, (_, index) => `word ${String(index)}`);
    assert.deepEqual(Everything.decode(Everything.encode({ words, raw: Buffer.alloc(70_000, 1) })).words, words);
  });

  it('refuses values that a field cannot carry, naming it', () => {
    const wrong: [object, RegExp][] = [
      [{ small: 2 ** 31 }, /Everything\.small must be a whole number/],
      [{ natural: -1 }, /Everything\.natural must be/],
      [{ big: 2 ** 53 }, /Everything\.big must be/],
      [{ small: 1.5 }, /small/],
      [{ huge: 2n ** 63n }, /huge must be a whole number of 64 bits/],
      [{ text: 5 }, /text must be text/],
      [{ raw: 'a' }, /raw must be bytes/],
      [{ inner: 'a' }, /inner must be a message/],
    ];
    for (const [value, pattern] of wrong) {
      assert.throws(
        () => Everything.encode(value),
        (problem) => problem instanceof WireError && pattern.test(problem.message),
      );
    }
  });

  it('brings every value back', () => {
    const value = {
      big: -(2 ** 53) + 1,
      huge: -1n,
      small: -(2 ** 31),
      natural: 2 ** 32 - 1,
      choice: 77,
      text: 'ü\u0000',
    };
    assert.deepEqual({ ...Everything.decode(Buffer.alloc(0)), ...value }, Everything.decode(Everything.encode(value)));
  });
});

describe('messages of the device plugin API', () => {
  it('accepts a registration without options', () => {
    const bytes = RegisterRequest.encode({ version: 'v1beta1', endpoint: 'a.sock', resourceName: 'example.com/a' });
    assert.equal(RegisterRequest.decode(bytes).options, undefined);
  });

  it('accepts an Empty that is not empty, as a newer client may send', () => {
    assert.deepEqual(Empty.decode(hex('0a0161')), {});
  });

  it('carries environments named like parts of a prototype', () => {
    const envs = new Map([['__proto__', 'x']]);
    const [container] = AllocateResponse.decode(
      AllocateResponse.encode({ containerResponses: [{ envs }] }),
    ).containerResponses;
    assert.deepEqual(container?.envs, envs);
  });
});
