import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFault } from '../../../src/sim/device/faults.js';
import { DEVICE_SIM_OPTIONS } from '../../../src/sim/device/options.js';
import { count, duration } from '../../../src/sim/sim-option.js';
import { deviceSimOptions } from '../../support/sim-options.js';

describe('the options of sim device', () => {
  it('have the flag of their key, help, and each key once', () => {
    for (const { key, flags, help } of DEVICE_SIM_OPTIONS) {
      const name = /^--([a-z-]+)/.exec(flags)?.[1] ?? '';
      assert.equal(
        name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
        key,
      );
      assert.ok(help.length > 5, key);
    }
    assert.equal(new Set(DEVICE_SIM_OPTIONS.map(({ key }) => key)).size, DEVICE_SIM_OPTIONS.length);
  });

  it('have defaults that are among their choices', () => {
    for (const { key, choices, default: value } of DEVICE_SIM_OPTIONS) {
      if (choices !== undefined) assert.ok(choices.includes(String(value)), key);
    }
    const options = deviceSimOptions({ dir: '/d', registry: '/r', devices: 9 });
    assert.deepEqual([options.devices, options.watch, options.fault], [9, ['create', 'own-socket'], []]);
  });

  it('take durations, counts and words, and say what is wrong with others', () => {
    assert.deepEqual(['250ms', '2s', '1.5m', '0ms'].map(duration), [250, 2_000, 90_000, 0]);
    for (const text of ['5', '-1s', 's', '1w', '']) assert.throws(() => duration(text), /is no duration/);
    assert.throws(() => duration('25d'), /25d is longer than a timer can hold: write at most 596h/);
    assert.equal(count('12'), 12);
    for (const text of ['-1', '1.5', 'x', '']) assert.throws(() => count(text), /is no whole number/);
    const parse = DEVICE_SIM_OPTIONS.find(({ key }) => key === 'watch')?.parse;
    assert.ok(parse !== undefined);
    assert.deepEqual(parse('poll,remove', undefined), ['poll', 'remove']);
    assert.throws(() => parse('poll,nothing', undefined), /nothing is none of create, remove/);
  });

  it('take faults one after the other', () => {
    const first = parseFault('GetInfo=status:INTERNAL:a: b@3', []);
    assert.deepEqual(parseFault('Allocate=delay:1s', first), [
      { method: 'GetInfo', first: 3, act: { kind: 'status', code: 13, details: 'a: b' } },
      { method: 'Allocate', first: Infinity, act: { kind: 'delay', ms: 1_000 } },
    ]);
    assert.throws(() => parseFault('Nothing=never', []), /names none of the methods/);
    assert.throws(() => parseFault('Allocate=explode', []), /explode is none of delay/);
    assert.throws(() => parseFault('Allocate=status:toString', []), /toString is no gRPC status/);
    assert.throws(() => parseFault('Allocate=delay:soon', []), /soon is no duration/);
  });
});
