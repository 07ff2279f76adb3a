import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Instance } from '../../../src/model/instance.js';
import type { Action } from '../../../src/reconcile/actions.js';
import {
  afterAway,
  afterChange,
  afterReplacement,
  afterServing,
  fateAtRestart,
  hasGrace,
  isAskedAgain,
  isLost,
  mayFallBackTo,
  surplusFallbacks,
  type Facts,
} from '../../../src/reconcile/consequences.js';
import { CoreWorld } from '../../support/core-world.js';
import { processOf } from '../../support/flood-world.js';

let made = 0;

function one(over: Partial<Instance>): Instance {
  const world = new CoreWorld();
  const process = world.start(`p${String((made += 1))}`);
  world.restore(process, { seq: made, isConfirmed: true });
  const instance = world.of(process);
  assert.ok(instance);
  // In a state in which nothing enters a roster, for functions that know none.
  return Object.assign(instance, over);
}

function facts(instance: Instance, over: Partial<Facts> = {}): Facts {
  const siblings = over.siblings ?? [instance];
  return {
    coexist: false,
    isListening: false,
    servedForMs: undefined,
    failures: 0,
    updateIntervalMs: 250,
    ...over,
    siblings: [...siblings].sort((a, b) => b.seq - a.seq),
  };
}

const did = (actions: readonly Action[]): string[] => actions.map((action) => action.do);

describe('the consequence of a change', () => {
  it('depends on who listens only for those that are lost, so that the kernel is asked of nobody else', () => {
    for (const [state, reason, isAsked] of [
      ['ready', 'registered', false],
      ['quarantined', 'quarantine', false],
      ['gone', 'deregistered', false],
      ['restored', 'from-checkpoint', false],
      ['restored', 'settling', true],
      ['held', 'connection-lost', true],
      ['held', 'replaced', false],
    ] as const) {
      const instance = one({ state, reason });
      const after = (isListening: boolean): Action[] =>
        afterChange(instance, 'ready', facts(instance, { isListening }));
      assert.equal(isLost(instance), isAsked, `${state} ${reason}`);
      if (!isAsked) assert.deepEqual(after(true), after(false), `${state} ${reason}`);
    }
  });

  it('of a loss is a pull where somebody listens, later with each failure, and at once after a proven session', () => {
    const instance = one({ state: 'held', reason: 'stream-failed' });
    const pullAfter = (over: Partial<Facts>): number | undefined =>
      afterChange(instance, 'ready', facts(instance, over)).find((action) => action.do === 'pull')?.delayMs;
    assert.equal(pullAfter({}), undefined);
    assert.equal(pullAfter({ isListening: true }), 0);
    assert.equal(pullAfter({ isListening: true, failures: 3, servedForMs: 9_999 }), 2000);
    assert.equal(pullAfter({ isListening: true, failures: 30, servedForMs: 10 }), 30_000);
    assert.equal(pullAfter({ isListening: true, failures: 30, servedForMs: 10_000 }), 0);
  });

  it('of a loss is a predecessor, at once or two seconds later where the lost one may come back', () => {
    const [old, young] = [
      one({ state: 'held', reason: 'replaced' }),
      one({ state: 'held', reason: 'connection-lost' }),
    ];
    const delays = [true, false].map(
      (isListening) =>
        afterChange(young, 'ready', facts(young, { siblings: [old, young], isListening })).find(
          (action) => action.do === 'fall-back',
        )?.delayMs,
    );
    assert.deepEqual(delays, [2000, 0]);
    const third = one({ state: 'ready', reason: 'registered' });
    const served = afterChange(young, 'ready', facts(young, { siblings: [old, young, third] }));
    assert.ok(!did(served).includes('fall-back'), 'nobody is needed while somebody serves');
  });

  it('of the end of an instance is that nothing is left of it, but one that hangs is looked at further', () => {
    const closed = one({ state: 'gone', reason: 'deregistered' });
    const hung = one({ state: 'gone', reason: 'grace-over' });
    assert.deepEqual(did(afterChange(closed, 'ready', facts(closed))).slice(1), [
      'end-session',
      'drop-lists',
      'cancel-pull',
    ]);
    assert.deepEqual(did(afterChange(hung, 'held', facts(hung))).slice(1), ['end-session', 'drop-lists']);
  });

  it('of a fifth incarnation without a list is that the oldest of them is let go', () => {
    const all = Array.from({ length: 5 }, () => one({ state: 'ready', reason: 'registered', isServing: false }));
    const [first] = all;
    const last = all.at(-1);
    assert.ok(last);
    const actions = afterChange(last, 'connecting', facts(last, { siblings: all }));
    assert.deepEqual(actions, [{ do: 'note-ready' }, { do: 'cancel-sleeping-pull' }, { do: 'retire', whom: first }]);
    assert.deepEqual(did(afterChange(last, 'connecting', facts(last, { siblings: all, coexist: true }))), [
      'note-ready',
      'cancel-sleeping-pull',
    ]);
  });

  it('of a fifth incarnation that is lost or in quarantine is that the oldest of them is let go, and never the newest that has served', () => {
    let made = 0;
    const lost = (isServing: boolean): Instance => {
      const isQuarantined = (made += 1) % 2 === 0;
      const { state, reason } = isQuarantined
        ? ({ state: 'quarantined', reason: 'quarantine' } as const)
        : ({ state: 'held', reason: 'connection-lost' } as const);
      return one({ state, reason, isServing });
    };
    const served = lost(true);
    const all = Array.from({ length: 5 }, () => lost(false));
    const last = all[4];
    assert.ok(last);
    const retired = (siblings: readonly Instance[], coexist: boolean): Instance[] =>
      afterChange(last, 'ready', facts(last, { siblings, coexist })).flatMap((action) =>
        action.do === 'retire' ? action.whom : [],
      );
    assert.deepEqual(retired([served, ...all.slice(1)], false), []);
    assert.deepEqual(retired([served, ...all], false), [all[0]]);
    assert.deepEqual(retired([served, ...all], true), [], 'all serve side by side');
    const others = Array.from({ length: 5 }, () => lost(true));
    assert.deepEqual(retired([served, ...others], false), [served], 'the newest that has served, and four more');
    Object.assign(last, { state: 'quarantined', reason: 'quarantine' });
    assert.deepEqual(retired([served, ...all], false), [all[0]]);
  });

  it('of a first list is that older ones are let go, and none that is still being asked', () => {
    const old = one({ state: 'ready', reason: 'registered' });
    const asked = one({ state: 'connecting', reason: 'registering' });
    const now = one({ state: 'ready', reason: 'registered' });
    const later = one({ state: 'ready', reason: 'registered' });
    const siblings = [later, now, asked, old];
    assert.deepEqual(afterServing(later, { siblings, coexist: false }), [now, old]);
    assert.deepEqual(afterServing(now, { siblings, coexist: false }), [now]);
    assert.deepEqual(afterServing(later, { siblings, coexist: true }), []);
  });

  it('is the end of another user that had the name before, also where incarnations serve side by side', () => {
    const by = (uid: number): Instance =>
      one({ state: 'ready', reason: 'registered', isServing: true, caller: processOf(1, uid) });
    const [strangers, before, now] = [by(4001), by(0), by(0)];
    const siblings = [strangers, before, now];
    assert.deepEqual(afterServing(now, { siblings, coexist: true }), [strangers]);
    assert.deepEqual(afterServing(strangers, { siblings, coexist: true }), [strangers]);
  });

  it('of being replaced is a place as fallback while it listens, for two of a plugin and none without its socket', () => {
    assert.deepEqual([afterReplacement(true).state, afterReplacement(false).state], ['held', 'gone']);
    assert.equal(mayFallBackTo(one({ state: 'held', reason: 'connection-lost' })), true);
    assert.equal(mayFallBackTo(one({ state: 'held', reason: 'socket-removed' })), false);
    const fallbacks = Array.from({ length: 4 }, () => one({ state: 'held', reason: 'replaced' })).reverse();
    assert.deepEqual(surplusFallbacks(fallbacks), fallbacks.slice(2));
  });
});

describe('what follows from a change for a plugin that was given a reason to register afresh', () => {
  it('is a clock when its socket was removed, and its socket again once it is away no more', () => {
    for (const [reasonBefore, state, reason, ...actions] of [
      ['registered', 'ready', 'recycled', 'start-clock'],
      ['recycled', 'restored', 'settling'],
      ['settling', 'ready', 'registered', 'put-back'],
      ['recycled', 'held', 'recycle-unanswered', 'put-back'],
      ['recycled', 'held', 'replaced', 'stop-clock', 'discard'],
      ['settling', 'gone', 'deregistered', 'stop-clock', 'put-back'],
      ['registered', 'gone', 'deregistered', 'stop-clock'],
      ['registered', 'held', 'connection-lost'],
    ] as const) {
      const to = { state, reason, message: '' };
      assert.deepEqual(
        afterAway({ before: 'ready', reasonBefore, to }),
        actions,
        `${reasonBefore}, ${state} ${reason}`,
      );
    }
    const to = { state: 'held', reason: 'connection-lost', message: '' } as const;
    assert.deepEqual(
      afterAway({ before: 'restored', reasonBefore: 'registered', to }),
      ['put-back'],
      'removed by a life of the broker that was killed',
    );
  });
});

describe('what a change decides after a restart', () => {
  it('is the fate of an instance that is not restored any more, or restarts itself', () => {
    for (const [state, reason, fate] of [
      ['restored', 'from-checkpoint', undefined],
      ['restored', 'settling', 'settling'],
      ['ready', 'confirmed', 'confirmed'],
      ['held', 'replaced', 'confirmed'],
      ['gone', 'replaced', 'confirmed'],
      ['held', 'connection-lost', 'lost'],
      ['quarantined', 'quarantine', 'lost'],
    ] as const)
      assert.equal(fateAtRestart({ state, reason, message: '' }), fate, `${state} ${reason}`);
  });
});

describe('a plugin of the registry that was given up', () => {
  it('is asked again while its socket is there, and no other is', () => {
    for (const [door, state, reason, isAsked] of [
      ['watcher', 'gone', 'grace-over', true],
      ['register', 'gone', 'grace-over', false],
      ['watcher', 'gone', 'deregistered', false],
      ['watcher', 'held', 'not-answering', false],
    ] as const)
      assert.equal(isAskedAgain(one({ door, state, reason })), isAsked, `${door} ${state} ${reason}`);
  });
});

describe('the grace of a lost instance', () => {
  it('runs for device plugins, and for drivers whose socket has gone', () => {
    for (const [type, state, reason, isAtItsPath, runs] of [
      ['DevicePlugin', 'held', 'connection-lost', true, true],
      ['DevicePlugin', 'held', 'replaced', true, false],
      ['DevicePlugin', 'restored', 'settling', false, false],
      ['CSIPlugin', 'held', 'socket-removed', true, true],
      ['CSIPlugin', 'held', 'not-answering', false, true],
      ['CSIPlugin', 'held', 'not-answering', true, false],
      ['DRAPlugin', 'held', 'service-lost', false, false],
      ['DRAPlugin', 'ready', 'registered', false, false],
    ] as const)
      assert.equal(
        hasGrace(one({ type, state, reason }), () => isAtItsPath),
        runs,
        `${type} ${state} ${reason}`,
      );
  });
});
