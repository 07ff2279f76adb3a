import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { completeForm, defaultForm } from '../../../src/platform/config/compiled-form.js';
import { explainForm } from '../../../src/platform/config/explain.js';
import { jsonSchema, parseForm } from '../../../src/platform/config/file-schema.js';

type Path = (string | number)[];

/** Every place in a document, the document itself too. */
function placesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  return [path, ...[...entries].flatMap(([key, inner]: [string | number, unknown]) => placesOf(inner, [...path, key]))];
}

function holderOf(document: unknown, path: Path): Record<string | number, unknown> {
  return path.slice(0, -1).reduce((value, key) => (value as Record<string | number, unknown>)[key], document) as never;
}

const seeds: unknown[] = [
  defaultForm,
  {},
  {
    admission: { allowUids: [0, 1000] },
    paths: { map: [{ from: '/a', to: '/b' }] },
    rules: [
      {
        match: { name: 'a.b/*' },
        flood: {
          mode: 'observe',
          register: { burst: 2 },
          updates: { onExceed: 'disconnect' },
          penalty: { factor: 1.5 },
        },
        duplicates: 'keep-alive',
        grace: '0s',
        uids: [7],
      },
    ],
  },
];

const oddValues = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1,
    1.5,
    2 ** 32,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    'any',
    'auto',
    'off',
    '0s',
    '5s',
    '05s',
    '1.5s',
    '999999999h',
    '16MiB',
    '0KiB',
    '1025GiB',
    '16MB',
    '/a',
    'a\nb',
    'x'.repeat(1025),
    '😀'.repeat(200),
    [],
    {},
    [0],
    ['a'],
    [''],
    [-1],
    [[]],
    [{}],
    [{ match: {} }],
    [{ match: { name: '' } }],
    { burst: 1 },
  ),
  fc.jsonValue(),
);

/** Every object of a JSON Schema that is a schema itself. */
function schemasIn(schema: object): Record<string, unknown>[] {
  return Object.entries(schema).reduce<Record<string, unknown>[]>(
    (found, [key, value]: [string, unknown]) => {
      const inner =
        key === 'properties'
          ? Object.values(value as object)
          : key === 'anyOf'
            ? (value as object[])
            : key === 'items'
              ? [value as object]
              : [];
      return [...found, ...inner.flatMap((one) => schemasIn(one as object))];
    },
    [schema as Record<string, unknown>],
  );
}

const isForm = new Ajv2020({ strict: false, unicodeRegExp: false }).compile(jsonSchema());

describe('the schema and its compiled form', () => {
  it('give the same verdict and the same form for every mutation of a good document', () => {
    const seed = fc.constantFrom(...seeds);
    fc.assert(
      fc.property(
        seed,
        fc.array(fc.tuple(fc.nat(), fc.constantFrom('set', 'drop', 'add', 'rename'), oddValues), { maxLength: 4 }),
        (start, edits) => {
          let document: unknown = structuredClone(start);
          for (const [place, kind, value] of edits) {
            const places = placesOf(document);
            const path = places[place % places.length] ?? [];
            const last = path.at(-1);
            if (last === undefined) {
              if (kind === 'set') document = structuredClone(value);
              continue;
            }
            const holder = holderOf(document, path);
            if (kind === 'set') holder[last] = structuredClone(value);
            else if (kind === 'add' && !Array.isArray(holder)) holder[String(place)] = value;
            else if (kind === 'rename' && !Array.isArray(holder)) {
              Object.defineProperty(holder, '__proto__', {
                value: holder[last],
                enumerable: true,
                configurable: true,
                writable: true,
              });
            } else if (!Array.isArray(holder)) Reflect.deleteProperty(holder, last);
          }
          const { data, error } = parseForm(structuredClone(document));
          const compiled = completeForm(structuredClone(document));
          assert.equal(compiled !== undefined, error === undefined, JSON.stringify(document));
          assert.equal(isForm(document), error === undefined, JSON.stringify(document));
          if (error === undefined) assert.deepEqual(compiled, data);
          else assert.ok(explainForm(document).length > 0);
        },
      ),
      { numRuns: 600 },
    );
  });

  it('use only the words of JSON Schema that the compiled form knows', () => {
    const known =
      '$schema title description type default properties required additionalProperties propertyNames items anyOf enum const pattern minimum maximum';
    const schemas = schemasIn(jsonSchema());
    assert.ok(schemas.length > 100);
    for (const schema of schemas) {
      assert.deepEqual(
        Object.keys(schema).filter((word) => !known.split(' ').includes(word)),
        [],
      );
      // An object is closed, or a map whose keys and values have schemas of their own.
      const isMap = schema['propertyNames'] !== undefined && typeof schema['additionalProperties'] === 'object';
      if (!isMap) assert.equal(schema['additionalProperties'], schema['type'] === 'object' ? false : undefined);
    }
  });

  it('agree about the defaults', () => {
    assert.deepEqual(completeForm({}), parseForm({}).data);
    assert.deepEqual(completeForm({}), defaultForm);
  });
});

describe('a section that can be off', () => {
  const problems = (penalty: unknown): string[] =>
    explainForm({ flood: { penalty } }).map(({ path, message, remedy }) => `${path.join('.')}: ${message}; ${remedy}`);

  it('is explained key by key where it is a section, and as a whole where it is neither', () => {
    assert.deepEqual(problems('off'), []);
    assert.deepEqual(problems({ strikes: 0 }), [
      'flood.penalty.strikes: 0 is not a whole number from 1 to 1000000; write one, or remove the key for the default 10',
    ]);
    assert.deepEqual(problems({ strike: 3 }), ['flood.penalty.strike: there is no such key; did you mean strikes?']);
    assert.deepEqual(problems('none'), [
      'flood.penalty: "none" is not off or a section of keys; write one, or remove the key',
    ]);
  });
});

describe('a key of which the default is empty', () => {
  it('is explained without a default that nobody sees', () => {
    const [problem] = explainForm({ allocator: { group: 65534 } });
    assert.deepEqual([problem?.message, problem?.remedy], ['65534 is not text', 'write one, or remove the key']);
    assert.match(explainForm({ allocator: { group: null } })[0]?.remedy ?? '', /, or remove the key$/);
  });
});
