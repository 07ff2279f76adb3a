import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '../../src/kernel/random.js';
import { seededRandom } from './seeded-random.js';
import { loadGeneration } from '../../src/config/load-config.js';
import { ConfigInvalid } from '../../src/config/problem.js';
import { compileGlob } from '../../src/platform/config/globs.js';
import { hostFacts } from '../../src/platform/config/host-facts.js';
import { parseYaml } from '../../src/platform/config/yaml-file.js';

const shipped = readFileSync(path.join(import.meta.dirname, '..', '..', '..', 'config', 'plugin-broker.yaml'), 'utf8');
/** Lines that say something. */
const LINES = shipped.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));
/** The parts of YAML beside plain keys and values. */
const ODD = [
  '&a ',
  '*a',
  '<<: *a',
  '!!set ',
  '!!omap ',
  '!!binary ',
  '!!timestamp ',
  '!x ',
  '? ',
  ': ',
  '- ',
  '---\n',
  '...\n',
  '%YAML 1.1\n',
  '%TAG ! tag:x,2000:\n',
  '|\n',
  '>-\n',
  '[',
  ']',
  '{',
  '}',
  '"',
  "'",
  '#',
  '\t',
  '\r',
  '\0',
  '\u2028',
  '\ufeff',
  '~',
  '.inf',
  '-.nan',
  '0x7fffffffffffffff',
  '1e999',
  '__proto__: ',
  'constructor: ',
  'toString: ',
  '[]: ',
  '{a: b}: ',
  '&a [*a]',
  '&a {x: *a}',
  '"\\ud800"',
];

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
const upTo = (random: Random, most: number): number => Math.floor(random.next() * (most + 1));

/** The text of a configuration file as a careless editor, or a hostile one, leaves it. The same for the same seed. */
function oddYaml(seed: number): string {
  const random = seededRandom(seed);
  let text = Array.from({ length: 1 + upTo(random, 12) }, () => pick(random, LINES)).join('\n');
  if (random.next() < 0.2) text = shipped;
  for (let turns = upTo(random, 6); turns > 0; turns--) {
    const at = upTo(random, text.length);
    const kind = upTo(random, 4);
    if (kind === 0) text = text.slice(0, at) + pick(random, ODD) + text.slice(at);
    else if (kind === 1) text = text.slice(0, at) + text.slice(at + upTo(random, 20));
    else if (kind === 2) text = text.slice(0, at) + pick(random, ODD).repeat(1 + upTo(random, 300)) + text.slice(at);
    else if (kind === 3) text = `${text.slice(0, at)}\n${pick(random, LINES)}\n${text.slice(at)}`;
    else text = text.slice(0, at) + String.fromCharCode(upTo(random, 0xffff)) + text.slice(at);
  }
  return text;
}

/** Reads a text as serve, check-config and reload do. Throws when anything but a configuration or its problems comes of it. */
export async function readOdd(text: string): Promise<void> {
  const source = { name: 'f', file: 'f', read: () => parseYaml(text), looks: () => '' };
  try {
    const { form } = await loadGeneration(source, '/r', hostFacts(), compileGlob);
    JSON.stringify(form);
  } catch (thrown) {
    if (!(thrown instanceof ConfigInvalid) || thrown.problems.length === 0) throw thrown;
  }
}

/** Many texts. The error names the seed that repeats it. */
export async function fuzzYaml(firstSeed: number, inputs: number): Promise<void> {
  for (let seed = firstSeed; seed < firstSeed + inputs; seed++) {
    try {
      await readOdd(oddYaml(seed));
    } catch (thrown) {
      throw new Error(`seed ${String(seed)}`, { cause: thrown });
    }
  }
}
