import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Instance } from '../../../src/model/instance.js';
import type { InstanceReport } from '../../../src/model/plugin.js';
import {
  afterListenerLook,
  afterPathLook,
  lookBefore,
  lookFor,
  mayHaveLostPath,
  withListener,
  withPath,
} from '../../../src/reconcile/after-look.js';
import { knownInstance } from '../../support/known-instance.js';

type Known = Partial<Instance>;
const SERVES: InstanceReport = { state: 'ready', reason: 'registered', message: 'serves' };
const ENDED: InstanceReport = { state: 'held', reason: 'reopening', message: 'closed its list stream' };

describe('a look at an instance whose files may have changed', () => {
  it('is at its path while it is connected, and at its listener where only that says whether it is there', () => {
    for (const [over, look] of [
      [{ state: 'ready', reason: 'registered' }, 'path'],
      [{ state: 'orphaned', reason: 'path-taken' }, 'path'],
      [{ state: 'ready', reason: 'registered', door: 'watcher' }, undefined],
      [{ state: 'held', reason: 'replaced' }, 'listener'],
      [{ state: 'gone', reason: 'grace-over' }, 'listener'],
      [{ state: 'gone', reason: 'grace-over', door: 'watcher' }, undefined],
      [{ state: 'held', reason: 'connection-lost' }, undefined],
    ] as const) {
      assert.equal(lookFor(knownInstance(over), false), look, JSON.stringify(over));
    }
    assert.equal(lookFor(knownInstance({ state: 'gone', reason: 'grace-over' }), true), undefined);
  });

  it('closes a fallback that listens no more, and pulls one that was given up and listens', () => {
    const fallback = knownInstance({ state: 'held', reason: 'replaced' });
    const givenUp = knownInstance({ state: 'gone', reason: 'grace-over' });
    assert.deepEqual(
      [fallback, givenUp].map((one) => [true, false].map((listens) => afterListenerLook(one, listens)[0]?.do)),
      [
        [undefined, 'close-replaced'],
        ['pull', undefined],
      ],
    );
  });

  it('tells of a path that is lost or taken, once it is back that it is, and nothing of a socket that we removed', () => {
    const at = (over: Known, key: string | undefined): string | undefined => {
      const report = afterPathLook(
        knownInstance({ socketKey: 'mine', state: 'ready', reason: 'registered', ...over }),
        key,
      );
      return report && `${report.state} ${report.reason}`;
    };
    assert.equal(at({}, 'mine'), undefined);
    assert.equal(at({}, undefined), 'ready path-missing');
    assert.equal(at({}, 'other'), 'orphaned path-taken');
    assert.equal(at({ door: 'watcher' }, undefined), 'orphaned path-taken');
    assert.equal(at({ reason: 'recycled' }, undefined), undefined);
    assert.equal(at({ reason: 'path-missing' }, 'mine'), 'ready registered');
  });
});

describe('the report of a handler', () => {
  it('is looked at where it cannot know: whose the path of a plugin that serves is, whether one that ended listens', () => {
    for (const [over, report, look] of [
      [{ state: 'ready', reason: 'registered' }, SERVES, 'path'],
      [{ state: 'orphaned', reason: 'path-taken', door: 'watcher' }, SERVES, 'path'],
      [{ state: 'ready', reason: 'registered', door: 'watcher' }, SERVES, undefined],
      [{ state: 'held', reason: 'not-answering' }, SERVES, undefined],
      [{ state: 'ready', reason: 'registered' }, { ...SERVES, reason: 'recycled' }, undefined],
      [{ state: 'ready', reason: 'registered' }, ENDED, 'listener'],
      [{ state: 'ready', reason: 'registered' }, { ...ENDED, reason: 'stream-failed' }, undefined],
    ] as const) {
      assert.equal(lookBefore(knownInstance(over), report), look, JSON.stringify([over, report]));
    }
  });

  it('counts as it is while nothing else is found', () => {
    const instance = knownInstance({ socketKey: 'mine' });
    assert.equal(withPath(instance, SERVES, 'mine'), SERVES);
    assert.equal(withPath(instance, SERVES, 'other').reason, 'path-taken');
    assert.equal(withListener(ENDED, true), ENDED);
    assert.equal(withListener(ENDED, false).reason, 'connection-lost');
  });

  it('of one that was held and serves again makes its path looked at, at the Register door', () => {
    const back = knownInstance({ state: 'ready', reason: 'registered' });
    assert.equal(mayHaveLostPath(back, 'held'), true);
    assert.equal(mayHaveLostPath(back, 'orphaned'), false);
    assert.equal(mayHaveLostPath(knownInstance({ state: 'ready', door: 'watcher' }), 'held'), false);
    assert.equal(mayHaveLostPath(knownInstance({ state: 'held' }), 'held'), false);
  });
});
