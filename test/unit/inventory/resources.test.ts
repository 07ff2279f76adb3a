import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Holding } from '../../../src/model/device-list.js';
import type { Instance } from '../../../src/model/instance.js';
import { OfferedResources } from '../../../src/inventory/offered.js';
import { resourcesOf } from '../../../src/inventory/resources.js';
import type { Speaker } from '../../../src/model/device-list.js';
import { PLUGIN_STATES, type PluginState } from '../../../src/model/plugin.js';

const holding = (instanceId: string, devices: number, healthy = devices, resource = 'r'): Holding => ({
  instanceId,
  resource,
  raw: Buffer.alloc(0),
  sha256: '',
  devices,
  healthy,
});
const speaker = (id: string, seq: number, state: PluginState, isHint = false): Speaker => ({ id, seq, state, isHint });

function counts(speakers: readonly Speaker[], holdings: readonly Holding[]): [number, number] | undefined {
  const found = resourcesOf(holdings, (id) => speakers.find((one) => one.id === id)).get('r');
  return found === undefined ? undefined : [found.capacity, found.allocatable];
}

describe('the devices of a resource, by health', () => {
  for (const [state, expected] of [
    ['ready', [3, 1, 0]],
    ['orphaned', [3, 1, 0]],
    ['restored', [3, 1, 0]],
    ['held', [0, 0, 4]],
    ['quarantined', [0, 0, 4]],
  ] as const) {
    it(`of a plugin that is ${state}: ${expected.join(', ')} healthy, unhealthy, held`, () => {
      const lists = { all: () => [holding('a', 4, 3)], holding: () => undefined };
      const instances = {
        get: () => speaker('a', 1, state) as Instance,
        ofPlugin: () => [],
        primaryOf: () => undefined,
      };
      const [one] = new OfferedResources(lists, instances).health();
      assert.deepEqual([one?.healthy, one?.unhealthy, one?.held], expected);
    });
  }
});

describe('capacity and allocatable of one instance', () => {
  for (const [state, isHint, expected] of [
    ['ready', false, [4, 3]],
    ['orphaned', false, [4, 3]],
    ['restored', false, [4, 3]],
    ['restored', true, [4, 0]],
    ['connecting', false, [4, 0]],
    ['held', false, [4, 0]],
    ['quarantined', false, [4, 0]],
    ['gone', false, undefined],
    ['rejected', false, undefined],
  ] as const) {
    it(`in ${state}${isHint ? ' from another boot' : ''}: ${expected?.join(' / ') ?? 'no resource'}`, () => {
      assert.deepEqual(counts([speaker('a', 1, state, isHint)], [holding('a', 4, 3)]), expected);
    });
  }
});

describe('the list that counts', () => {
  it('is the one of the last to register', () => {
    const both = [speaker('a', 1, 'ready'), speaker('b', 2, 'ready')];
    assert.deepEqual(counts(both, [holding('a', 1), holding('b', 2)]), [2, 2]);
    assert.deepEqual(counts(both, [holding('b', 2), holding('a', 1)]), [2, 2]);
  });

  it('stays the old one until the newcomer has sent its own', () => {
    const both = [speaker('a', 1, 'ready'), speaker('b', 2, 'ready')];
    assert.deepEqual(counts(both, [holding('a', 3)]), [3, 3]);
  });

  it('is the one of the fallback while its successor is lost', () => {
    const both = [speaker('a', 1, 'ready'), speaker('b', 2, 'held')];
    assert.deepEqual(counts(both, [holding('a', 1), holding('b', 2)]), [1, 1]);
  });

  it('of two that are lost is the newest', () => {
    const both = [speaker('a', 1, 'held'), speaker('b', 2, 'held')];
    assert.deepEqual(counts(both, [holding('b', 2), holding('a', 1)]), [2, 0]);
  });

  it('is nobody’s whose instance is not known', () => {
    assert.equal(counts([], [holding('a', 1)]), undefined);
  });

  it('does not depend on the order in which lists are looked at', () => {
    const state = fc.constantFrom(...PLUGIN_STATES);
    const instance = fc.record({ state, devices: fc.nat(9), isHint: fc.boolean() });
    fc.assert(
      fc.property(fc.array(instance, { maxLength: 6 }), fc.infiniteStream(fc.nat(5)), (instances, order) => {
        const speakers = instances.map((one, at) => speaker(String(at), at, one.state, one.isHint));
        const holdings = instances.map(({ devices }, at) => holding(String(at), devices));
        const shuffled = [...holdings].sort(() => (order.next().value ?? 0) - 2);
        assert.deepEqual(counts(speakers, shuffled), counts(speakers, holdings));
        const usable = counts(speakers, holdings)?.[1] ?? 0;
        const best = Math.max(0, ...holdings.map((one) => one.healthy));
        assert.ok(usable <= best, 'never more than one list');
      }),
    );
  });
});
