import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseYaml } from '../../../src/platform/config/yaml-file.js';
import { fuzzYaml, readOdd } from '../../support/yaml-fuzz.js';

const ODD: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ['an alias to the list around it', 'rules: &r [*r]', /contains itself/],
  ['an alias to the mapping around it', '&a\nflood: *a', /contains itself/],
  ['a merge of itself', '&a\n<<: *a\nflood: {}', /contains itself|cannot be read|<</i],
  ['10,000 lists in each other', `rules: ${'['.repeat(10_000)}${']'.repeat(10_000)}`, /nested|cannot be read|not YAML/],
  ['10,000 mappings in each other', '{a: '.repeat(10_000), /nested|cannot be read|not YAML/],
  ['a key that is a list', '? [a, b]\n: c', /./],
  [
    'aliases of aliases',
    Array.from(
      { length: 12 },
      (_, at) => `a${at}: &a${at} [${at === 0 ? '1' : `*a${at - 1}, *a${at - 1}, *a${at - 1}`}]`,
    ).join('\n'),
    /./,
  ],
];

void describe('an odd configuration file', () => {
  for (const [what, text, says] of ODD) {
    void it(`with ${what} is refused with a reason`, async () => {
      const read = await parseYaml(text);
      assert.ok('problems' in read);
      assert.match(read.problems.map(({ message }) => message).join('\n'), says);
      await readOdd(text);
    });
  }

  void it('is a configuration or a list of problems, for each of 500', async () => {
    await fuzzYaml(1, 500);
  });
});
