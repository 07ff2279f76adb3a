import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '../../src/kernel/random.js';
import { Command } from 'commander';
import { CapturedTerminal } from './captured-terminal.js';
import { seededRandom } from './seeded-random.js';
import { silentLog } from './silence.js';
import { readSource } from '../../src/cli-config.js';
import { addCheckConfig } from '../../src/cli/commands/check-config.js';
import { CliError, EXIT } from '../../src/cli/exit.js';
import { LiveConfig } from '../../src/config/live-config.js';
import { loadGeneration } from '../../src/config/load-config.js';
import { PolicyReload, reloadView } from '../../src/config/policy-reload.js';
import type { FormSource } from '../../src/config/ports.js';
import { ConfigInvalid } from '../../src/config/problem.js';
import { compileGlob } from '../../src/platform/config/globs.js';
import { hostFacts } from '../../src/platform/config/host-facts.js';
import { defaultSource, parseYaml } from '../../src/platform/config/yaml-file.js';
import { systemClock } from '../../src/platform/time/system-clock.js';

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

/** Sections that are right, all together. */
const SECTIONS = [
  'shippedRules: off',
  'flood: {register: {burst: 8, onExceed: delay, maxDelay: 900ms}}',
  'grace: {device: 7s}',
  'log: {level: debug}',
  'admission: {allowNames: ["[", "example.com/*"], denyNames: ["!(x)"]}',
  'paths: {state: elsewhere}',
  'http: {listen: off}',
];
const SAYINGS = [
  'grace: 90s',
  'reattach: probe',
  'flood: {register: {burst: 9, onExceed: reject, maxDelay: 3s}}',
  'flood: {penalty: off}',
  'allocate: {max: 3}',
  'uids: [0, 4001]',
];
const GLOBS = [
  'example.com/*',
  'gpu',
  '[',
  '{a,b',
  '!(x)',
  '**',
  '/r/plugins/*.sock',
  '/elsewhere/{a,b}.sock',
  '../x',
  '\\',
  '*'.repeat(40),
  '__proto__',
];

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
const upTo = (random: Random, most: number): number => Math.floor(random.next() * (most + 1));

/** A text that is right but for the one or other value, so that the checks after reading have something to do. */
function nearlyRight(random: Random): string {
  const chance = (share: number, text: () => string): string[] => (random.next() < share ? [text()] : []);
  const glob = (): string => JSON.stringify(pick(random, GLOBS));
  const rule = (): string => {
    const match = [
      `name: ${glob()}`,
      ...chance(0.4, () => `socket: ${glob()}`),
      ...chance(0.3, () => `type: ${pick(random, ['DevicePlugin', 'CSIPlugin', 'deviceplugin'])}`),
    ];
    return `- {match: {${match.join(', ')}}, ${pick(random, SAYINGS)}}`;
  };
  const sections = SECTIONS.filter(() => random.next() < 0.3);
  const rules = Array.from({ length: upTo(random, 3) }, rule);
  return [...sections, ...(rules.length === 0 ? ['rules: []'] : ['rules:', ...rules])].join('\n');
}

/** The text of a configuration file as a careless editor, or a hostile one, leaves it. The same for the same seed. */
function oddYaml(seed: number): string {
  const random = seededRandom(seed);
  let text = Array.from({ length: 1 + upTo(random, 12) }, () => pick(random, LINES)).join('\n');
  if (random.next() < 0.2) text = shipped;
  let turns = upTo(random, 6);
  if (random.next() < 0.4) [text, turns] = [nearlyRight(random), Math.max(0, turns - 5)];
  for (; turns > 0; turns--) {
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

const inForce = loadGeneration(defaultSource, '/r', hostFacts(), compileGlob);

/** Reads a text as serve, check-config and reload do. Throws when anything but a configuration or its problems comes of it. */
export async function readOdd(text: string): Promise<void> {
  const parsed = parseYaml(text);
  const source: FormSource = { name: 'f', file: 'f', read: () => parsed, looks: () => '' };
  let isGood = true;
  try {
    await loadGeneration(source, '/r', hostFacts(), compileGlob);
  } catch (thrown) {
    if (!(thrown instanceof ConfigInvalid) || thrown.problems.length === 0) throw thrown;
    isGood = false;
  }
  const wanted = isGood ? EXIT.ok : EXIT.config;
  const words = isGood ? [[], ['--plugin', 'example.com/gpu']] : [[]];
  for (const more of words) {
    const code = await checked(source, more);
    if (code !== wanted) throw new Error(`check-config ${more.join(' ')} ends with ${code}, serve with ${wanted}`);
  }
  await reloaded(source, isGood);
}

/** The exit code of check-config for a source. Throws whatever would end it with a stack. */
async function checked(source: FormSource, more: readonly string[]): Promise<number> {
  const program = new Command();
  addCheckConfig(program, new CapturedTerminal(), (_, root) => readSource(source, root));
  try {
    await program.parseAsync(['check-config', 'f', '--root', '/r', ...more], { from: 'user' });
    return EXIT.ok;
  } catch (thrown) {
    if (thrown instanceof CliError) return thrown.exitCode;
    throw thrown;
  }
}

/** Has a broker with the defaults take a source over. It survives any failure there, and calls what it did not expect a bug. */
async function reloaded(source: FormSource, isGood: boolean): Promise<void> {
  const live = new LiveConfig(await inForce, 'f', 'at start');
  const around = hostFacts();
  const events = { record: () => undefined };
  const parts = {
    source,
    live,
    rootFlag: '/r',
    around,
    compile: compileGlob,
    clock: systemClock,
    log: silentLog,
    events,
  };
  const outcome = await new PolicyReload(parts).reload('the file changed');
  JSON.stringify(reloadView(outcome, source));
  if (outcome.kind !== 'refused') {
    live.policyFor('DevicePlugin', 'example.com/gpu', '/r/device-plugins/gpu.sock');
    live.nameAllowed('example.com/gpu');
  } else if (outcome.problems.length === 0 || outcome.problems.some(({ remedy }) => /as a bug/.test(remedy))) {
    throw new Error(`reload: ${JSON.stringify(outcome.problems)}`);
  }
  if ((outcome.kind !== 'refused') !== isGood) throw new Error(`reload: ${outcome.kind}, otherwise good: ${isGood}`);
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
