import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceNow } from '../../../src/front/ports.js';
import { standingOf, type Speculation, type Standing } from '../../../src/front/standing.js';
import { READY } from '../../support/front-ports.js';

/** A row: the facts, and what the kubelet is told, how its Allocate and how its PreStartContainer is treated. */
type Row = readonly [
  what: string,
  facts: Partial<ResourceNow> | undefined,
  told: Standing['told'],
  allocate: Standing['allocate'],
  preStart: Standing['preStart'],
];

const AWAY = { isConfirmed: false } as const;
const HINT = { ...AWAY, isHint: true } as const;

const ROWS: readonly Row[] = [
  ['ready', { state: 'ready' }, 'reported', 'open', 'open'],
  ['restored, of this boot', { ...AWAY, state: 'restored' }, 'reported', 'hold', 'wait'],
  ['restored, as it restarts itself', { state: 'restored', reason: 'settling' }, 'reported', 'hold', 'wait'],
  ['held in its grace', { state: 'held' }, 'reported', 'hold', 'wait'],
  ['held and never reached', { ...AWAY, state: 'held' }, 'reported', 'hold', 'wait'],
  ['asked again', { state: 'connecting' }, 'reported', 'hold', 'wait'],
  ['of another boot and held', { ...HINT, state: 'held' }, 'nothing', 'away', 'wait'],
  ['of another boot and restored', { ...HINT, state: 'restored' }, 'nothing', 'away', 'wait'],
  ['of another boot and ready', { isHint: true, state: 'ready' }, 'reported', 'open', 'open'],
  ['of another boot, reached and held', { isHint: true, state: 'held' }, 'reported', 'hold', 'wait'],
  ['quarantined', { state: 'quarantined' }, 'unhealthy', 'refused', 'refused'],
  ['orphaned', { state: 'orphaned' }, 'reported', 'open', 'open'],
  ['gone', { state: 'gone' }, 'goodbye', 'away', 'wait'],
  ['rejected', { state: 'rejected' }, 'goodbye', 'away', 'wait'],
  ['ready with an empty list', { state: 'ready', devices: 0, healthy: 0 }, 'goodbye', 'away', 'wait'],
  ['quarantined with an empty list', { state: 'quarantined', devices: 0, healthy: 0 }, 'goodbye', 'away', 'wait'],
  ['unknown', undefined, 'goodbye', 'away', 'wait'],
];

const of = (facts: Partial<ResourceNow> | undefined, speculation: Speculation): Standing =>
  standingOf(facts === undefined ? undefined : { ...READY, ...facts }, speculation);

describe('a resource towards the kubelet', () => {
  for (const [what, facts, ...expected] of ROWS) {
    it(`whose plugin is ${what}: its list is ${expected[0]}, Allocate ${expected[1]}, PreStartContainer ${expected[2]}`, () => {
      const { told, allocate, preStart, isSpeculative } = of(facts, 'off');
      assert.deepEqual([told, allocate, preStart, isSpeculative], [...expected, false]);
    });
  }

  for (const [speculation, told, isSpeculative] of [
    ['off', 'nothing', false],
    ['on', 'reported', true],
    ['over', 'unhealthy', false],
  ] as const) {
    it(`of another boot is ${told} with speculation ${speculation}, Allocate fails at once, and containers wait`, () => {
      for (const state of ['restored', 'held', 'connecting'] as const) {
        assert.deepEqual(of({ ...HINT, state }, speculation), {
          ...{ told, allocate: 'away', preStart: 'wait', isConfirmed: false, isSpeculative },
        });
      }
    });
  }

  it('is treated alike with and without speculation unless its list is of another boot', () => {
    for (const [what, facts] of ROWS) {
      if (facts?.isHint === true && facts.isConfirmed === false) continue;
      for (const speculation of ['on', 'over'] as const) {
        assert.deepEqual(of(facts, speculation), of(facts, 'off'), what);
      }
    }
  });

  it('counts as reached when its plugin is ready, or was in this life of the broker', () => {
    const confirmed = ROWS.filter(([, facts]) => of(facts, 'off').isConfirmed).map(([what]) => what);
    assert.deepEqual(confirmed, [
      'ready',
      'restored, as it restarts itself',
      'held in its grace',
      'asked again',
      'of another boot and ready',
      'of another boot, reached and held',
      'quarantined',
      'orphaned',
    ]);
  });
});
