import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkpointCondition } from '../../../src/checkpoint/store-state.js';

describe('the problem of a checkpoint', () => {
  it('is that nothing becomes durable, and nothing that a start found and is over', () => {
    for (const state of ['recovered', 'empty'] as const) {
      assert.equal(checkpointCondition({ state, reason: 'a file was damaged' }), undefined, state);
    }
    assert.equal(checkpointCondition({ state: 'ok', reason: '' }), undefined);
    assert.equal(checkpointCondition({ state: 'ok', reason: 'lists are not written' }), 'lists are not written');
    for (const state of ['not-writable', 'newer-format'] as const) {
      assert.equal(checkpointCondition({ state, reason: 'EIO' }), `the checkpoint is ${state}: EIO`);
    }
  });
});
