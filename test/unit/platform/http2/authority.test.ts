import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAcceptableAuthority, withAcceptableAuthority } from '../../../../src/platform/http2/authority.js';
import { HeaderField } from '../../../../src/platform/http2/hpack-field.js';

const fields = (...pairs: readonly (readonly [string, string])[]): HeaderField[] =>
  pairs.map(([name, value]) => new HeaderField(name, value));
const METHOD = [':method', 'POST'] as const;
const CUSTOM = ['x', 'y'] as const;

void describe('an authority', () => {
  const passing = ['localhost', '%2Fvar%2Flib%2Fx.sock', '[::1]:50051', 'a_b', 'a,b;c=d', '127.0.0.1:80', ':', '~'];
  for (const value of passing) {
    void it(`of ${value} is acceptable`, () => assert.equal(isAcceptableAuthority(value), true));
  }
  const refused = [
    '',
    '/run/x.sock',
    'unix:/run/x.sock',
    'a b',
    ' a',
    'a ',
    '@abstract',
    'a\tb',
    'a\0',
    'ä',
    'a"b',
    'a?b',
  ];
  for (const value of refused) {
    void it(`of ${JSON.stringify(value)} is not`, () => assert.equal(isAcceptableAuthority(value), false));
  }
});

void describe('withAcceptableAuthority', () => {
  const rows = [
    { when: 'it is a raw path', given: [METHOD, [':authority', '/p'], CUSTOM], authority: 'localhost' },
    { when: 'it is empty', given: [METHOD, [':authority', '']], authority: 'localhost' },
    { when: 'it is missing', given: [METHOD, CUSTOM], authority: 'localhost' },
    { when: 'it is missing and host is a path', given: [METHOD, ['host', '/p']], authority: 'localhost' },
    {
      when: 'it is a path and host is fine',
      given: [METHOD, [':authority', '/p'], ['host', 'h']],
      authority: 'localhost',
    },
  ] as const;
  for (const { when, given, authority } of rows) {
    void it(`says ${authority} when ${when}, and keeps the rest`, () => {
      const before = fields(...given);
      const after = withAcceptableAuthority(before);
      assert.deepEqual(
        after.filter(({ name }) => name === ':authority').map(({ value }) => value),
        [authority],
      );
      const rest = (all: readonly HeaderField[]) => all.filter(({ name }) => name !== ':authority');
      assert.deepEqual(rest(after), rest(before));
      const firstRegular = after.findIndex(({ name }) => !name.startsWith(':'));
      const place = after.findIndex(({ name }) => name === ':authority');
      assert.ok(firstRegular === -1 || place < firstRegular);
    });
  }

  const unchanged = [
    { when: 'the authority is fine', given: [METHOD, [':authority', 'localhost'], CUSTOM] },
    { when: 'host stands in for it', given: [METHOD, ['host', 'localhost']] },
    { when: 'it is fine and only host is not', given: [METHOD, [':authority', 'a'], ['host', '/p']] },
  ] as const;
  for (const { when, given } of unchanged) {
    void it(`gives back the same array when ${when}`, () => {
      const before = fields(...given);
      assert.equal(withAcceptableAuthority(before), before);
    });
  }
});
