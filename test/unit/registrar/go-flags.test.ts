import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { goUsage, parseGoFlags, type FlagValue, type GoFlag } from '../../../src/registrar/go-flags.js';
import { formatGoDuration, parseGoBool, parseGoDuration, parseGoInt } from '../../../src/registrar/go-values.js';

const FLAGS: readonly GoFlag[] = [
  { name: 'path', kind: 'string', fallback: '/run', usage: 'a path' },
  { name: 'b', kind: 'bool', fallback: false, usage: 'a switch' },
  { name: 'v', kind: 'int', fallback: 0, usage: 'a number' },
  { name: 'wait', kind: 'duration', fallback: 1000, usage: 'a time' },
  { name: 'more', kind: 'list', fallback: [], usage: 'several' },
];

function parse(...args: string[]): Record<string, FlagValue> | string {
  const parsed = parseGoFlags(FLAGS, args);
  if (!parsed.ok) return parsed.isHelp ? 'help' : parsed.message;
  return Object.fromEntries(parsed.values);
}

const value = (name: string, ...args: string[]): FlagValue | string | undefined => {
  const parsed = parse(...args);
  return typeof parsed === 'string' ? parsed : parsed[name];
};

describe('Go flag syntax', () => {
  const values: [args: string[], name: string, expected: FlagValue][] = [
    [[], 'path', '/run'],
    [['-path=x'], 'path', 'x'],
    [['--path=x'], 'path', 'x'],
    [['-path', 'x'], 'path', 'x'],
    [['--path', 'x'], 'path', 'x'],
    [['--path='], 'path', ''],
    [['--path=a=b'], 'path', 'a=b'],
    [['--path', '--b'], 'path', '--b'],
    [['--path=a', '--path=b'], 'path', 'b'],
    [['-b'], 'b', true],
    [['--b=false'], 'b', false],
    [['--b=1'], 'b', true],
    [['-b', 'false', '-v=3'], 'v', 0],
    [['--v=5'], 'v', 5],
    [['-v', '0x10'], 'v', 16],
    [['--wait=1m30s'], 'wait', 90_000],
    [['--wait', '0'], 'wait', 0],
    [['stop', '--v=1'], 'v', 0],
    [['--', '--v=1'], 'v', 0],
    [['-', '--v=1'], 'v', 0],
    [['', '--v=1'], 'v', 0],
    [['--more=a', '--more', 'b'], 'more', ['a', 'b']],
  ];
  for (const [args, name, expected] of values) {
    it(`reads ${name} as ${JSON.stringify(expected)} from ${JSON.stringify(args)}`, () => {
      assert.deepEqual(value(name, ...args), expected);
    });
  }

  const problems: [args: string[], message: string][] = [
    [['--nope'], 'flag provided but not defined: -nope'],
    [['-nope=1'], 'flag provided but not defined: -nope'],
    [['--path'], 'flag needs an argument: -path'],
    [['---path'], 'bad flag syntax: ---path'],
    [['-=x'], 'bad flag syntax: -=x'],
    [['--b=maybe'], 'invalid boolean value "maybe" for -b: parse error'],
    [['--v=many'], 'invalid value "many" for flag -v: parse error'],
    [['--wait=5'], 'invalid value "5" for flag -wait: parse error'],
    [['-h'], 'help'],
    [['--help'], 'help'],
    [['-help=1'], 'help'],
  ];
  for (const [args, message] of problems) {
    it(`answers ${JSON.stringify(args)} with ${message}`, () => assert.equal(parse(...args), message));
  }

  it('tells which flags were given', () => {
    const parsed = parseGoFlags(FLAGS, ['--b', '--path=/run']);
    assert.deepEqual(parsed.ok && [...parsed.given], ['b', 'path']);
  });

  it('prints help as Go does', () => {
    assert.equal(
      goUsage('me', FLAGS.slice(0, 4)),
      'Usage of me:\n  -b\n    \ta switch\n  -path string\n    \ta path (default "/run")\n' +
        '  -v int\n    \ta number\n  -wait duration\n    \ta time (default 1s)\n',
    );
  });

  it('never throws, with any words', () => {
    const word = fc.oneof(fc.string(), fc.constantFrom('-b', '--path', '--wait=', '-v', '--'));
    fc.assert(fc.property(fc.array(word), (args) => void parseGoFlags(FLAGS, args)));
  });
});

describe('Go values', () => {
  const durations: [text: string, ms: number | undefined][] = [
    ['1s', 1000],
    ['500ms', 500],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['1.s', 1000],
    ['-2s', -2000],
    ['+2s', 2000],
    ['0', 0],
    ['100us', 0.1],
    ['100µs', 0.1],
    ['1ns', 1e-6],
    ['', undefined],
    ['5', undefined],
    ['s', undefined],
    ['.s', undefined],
    ['1d', undefined],
    ['1s ', undefined],
    ['1e3s', undefined],
    ['2562048h', undefined],
  ];
  for (const [text, ms] of durations) {
    it(`reads the duration ${JSON.stringify(text)} as ${String(ms)} ms`, () => assert.equal(parseGoDuration(text), ms));
  }
  const integers: [text: string, number: number | undefined][] = [
    ['5', 5],
    ['-5', -5],
    ['+5', 5],
    ['0', 0],
    ['-0', 0],
    ['0x1F', 31],
    ['0o17', 15],
    ['017', 15],
    ['0b101', 5],
    ['0x_ff', 255],
    ['1_000', undefined],
    ['08', undefined],
    ['5.0', undefined],
    ['', undefined],
    ['99999999999999999999', undefined],
  ];
  for (const [text, number] of integers) {
    it(`reads the integer ${JSON.stringify(text)} as ${String(number)}`, () => assert.equal(parseGoInt(text), number));
  }

  it('reads booleans as exactly the words that Go takes', () => {
    assert.deepEqual(['1', 't', 'T', 'true', 'TRUE', 'True'].map(parseGoBool), Array(6).fill(true));
    assert.deepEqual(['0', 'f', 'F', 'false', 'FALSE', 'False'].map(parseGoBool), Array(6).fill(false));
    assert.deepEqual(['', 'yes', 'tRUE', '2'].map(parseGoBool), Array(4).fill(undefined));
  });

  it('writes durations so that Go reads them back', () => {
    for (const ms of [0, 1, 250, 1000, 90_000]) assert.equal(parseGoDuration(formatGoDuration(ms)), ms);
  });
});
