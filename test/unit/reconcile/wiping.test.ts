import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wipesSockets } from '../../../src/reconcile/wiping.js';

describe('sockets of plugins', () => {
  it('are removed at a start without a checkpoint, always or never, as the policy says', () => {
    const states = ['empty', 'ok', 'recovered', 'newer-format', 'not-writable'] as const;
    const wiped = (policy: 'never' | 'on-cold-start' | 'always'): string[] =>
      states.filter((state) => wipesSockets(policy, state));
    assert.deepEqual(wiped('never'), []);
    assert.deepEqual(wiped('on-cold-start'), ['empty']);
    assert.deepEqual(wiped('always'), [...states]);
  });
});
