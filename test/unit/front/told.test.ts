import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceNow } from '../../../src/front/ports.js';
import { beyondKubelet, compose, isWorse, NOTHING, type Told } from '../../../src/front/told.js';
import { ListAndWatchResponse } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { frontWire } from '../../../src/platform/wire/front-wire.js';
import { READY } from '../../support/front-ports.js';

const GOOD = 'Healthy';
const BAD = 'Unhealthy';

/** A list in bytes, from pairs of id and health, each device on NUMA node 1. */
const listOf = (devices: Readonly<Record<string, string>>): Buffer =>
  ListAndWatchResponse.encode({
    devices: Object.entries(devices).map(([id, health]) => ({ id, health, topology: { nodes: [{ id: 1 }] } })),
  });

/** A plugin's list with the facts of it that the broker keeps. */
const nowOf = (devices: Readonly<Record<string, string>>): ResourceNow => ({
  ...READY,
  list: listOf(devices),
  devices: Object.keys(devices).length,
  healthy: Object.values(devices).filter((health) => health === GOOD).length,
});

/** Devices of a told list as a kubelet reads them. */
const read = (told: Told | undefined): [id: string, health: string, nodes: number | undefined][] =>
  ListAndWatchResponse.decode(told?.bytes ?? Buffer.alloc(0)).devices.map(({ id, health, topology }) => [
    id,
    health,
    topology?.nodes[0]?.id,
  ]);

const counts = (told: Told | undefined): (number | undefined)[] => [told?.healthy, told?.unhealthy];

describe('the list that the kubelet is told', () => {
  const now = nowOf({ a: GOOD, b: BAD });

  it('is the very bytes of the plugin while it lists all that pods have', () => {
    const told = compose(now, { told: 'reported' }, { held: ['a', 'b'] }, frontWire);
    assert.equal(told?.bytes, now.list);
    assert.deepEqual(counts(told), [1, 1]);
  });

  it('keeps what a pod has and the plugin does not list any more, as unhealthy and once', () => {
    const told = compose(now, { told: 'reported' }, { held: ['a', 'gone', 'lost'] }, frontWire);
    assert.deepEqual(read(told), [
      ['a', GOOD, 1],
      ['b', BAD, 1],
      ['gone', BAD, undefined],
      ['lost', BAD, undefined],
    ]);
    assert.deepEqual(counts(told), [1, 3]);
  });

  it('has all devices as unhealthy where it says so, with their nodes and with those that vanished', () => {
    const told = compose(now, { told: 'unhealthy' }, { held: ['a', 'gone'] }, frontWire);
    assert.deepEqual(read(told), [
      ['a', BAD, 1],
      ['b', BAD, 1],
      ['gone', BAD, undefined],
    ]);
    assert.deepEqual(counts(told), [0, 3]);
  });

  it('is empty as a goodbye, also while pods have devices, and none at all where nothing is to be told', () => {
    assert.equal(compose(now, { told: 'goodbye' }, { held: ['a'] }, frontWire), NOTHING);
    assert.equal(compose(undefined, { told: 'goodbye' }, { held: ['a'] }, frontWire), NOTHING);
    assert.equal(compose(now, { told: 'nothing' }, { held: ['a'] }, frontWire), undefined);
  });
});

describe('the health of devices in a list', () => {
  it('is that of the ids that are asked about, the last entry of each', async () => {
    const twice = Buffer.concat([listOf({ a: GOOD, b: GOOD, cc: GOOD, é: BAD }), listOf({ b: BAD })]);
    assert.deepEqual(
      [...(await frontWire.healthInTurns(twice, ['b', 'é', 'missing']))],
      [
        ['b', false],
        ['é', false],
      ],
    );
    assert.equal((await frontWire.healthInTurns(twice, [])).size, 0);
  });
});

describe('the devices of a list in the answers of a kubelet', () => {
  it('count as near eight NUMA nodes each, with the name of the resource at each', async () => {
    const list = listOf({ a: GOOD, bcd: BAD });
    const octets = 8 * (2 * (24 + 'v/gpu'.length) + 'abcd'.length);
    assert.equal(frontWire.octetsOf(list, 'v/gpu'), octets);
    assert.equal(await frontWire.octetsInTurns(list, 'v/gpu'), octets);
    const told = compose(
      { ...nowOf({ a: GOOD }), list },
      { told: 'reported' },
      { held: ['é'], shared: 'v/gpu' },
      frontWire,
    );
    assert.equal(told?.octets, octets + 8 * (24 + 'v/gpu'.length + 2));
  });

  it('are not for a kubelet where one is near more, of an ordinary user', () => {
    const nodes = Array.from({ length: 9 }, () => ({ id: 0 }));
    const list = ListAndWatchResponse.encode({ devices: [{ id: 'a', health: GOOD, topology: { nodes } }] });
    const now = { ...READY, list };
    const [shared, own] = ['v/gpu', undefined].map((name) =>
      compose(now, { told: 'reported' }, { held: [], shared: name }, frontWire),
    );
    assert.match((shared && beyondKubelet(shared)) ?? '', /more than 8 NUMA nodes/);
    assert.equal(own && beyondKubelet(own), undefined);
  });
});

describe('a list that cannot wait', () => {
  const told = (devices: Readonly<Record<string, string>>): Told => {
    const { list: bytes, devices: all, healthy } = nowOf(devices);
    return { bytes, healthy, unhealthy: all - healthy, octets: 0 };
  };
  const before = told({ a: GOOD, b: GOOD, c: BAD });

  for (const [what, next, expected] of [
    ['a device stopped being healthy', { a: GOOD, b: BAD, c: BAD }, true],
    ['one did and another one became healthy', { a: GOOD, b: BAD, c: GOOD }, true],
    ['a healthy device is not listed any more', { a: GOOD, c: GOOD }, true],
    ['a device became healthy', { a: GOOD, b: GOOD, c: GOOD }, false],
    ['there are more devices', { a: GOOD, b: GOOD, c: BAD, d: GOOD }, false],
    ['an unhealthy device is not listed any more', { a: GOOD, b: GOOD }, false],
  ] as const) {
    it(`is ${expected ? 'one' : 'none'} in which ${what}`, () => {
      assert.equal(isWorse(before, told(next), frontWire), expected);
    });
  }

  it('is told by its count alone where it is long, and never read whole for it', () => {
    const never = { ...frontWire, isWorse: () => assert.fail('a long list is not read') };
    const many = (bad: number): Told =>
      told(Object.fromEntries(Array.from({ length: 2000 }, (_, nth) => [`d${String(nth)}`, nth < bad ? BAD : GOOD])));
    assert.equal(isWorse(many(0), many(1), never), true);
    assert.equal(isWorse(many(1), many(0), never), false);
    assert.equal(isWorse(many(1), told({ d0: GOOD }), never), true);
  });

  it('is none after a list in which nothing was healthy', () => {
    assert.equal(isWorse(told({ a: BAD }), told({ b: BAD }), frontWire), false);
  });
});
