import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkpointCondition } from '../../../src/checkpoint/store-state.js';

describe('the problem of a checkpoint', () => {
  it('is that nothing becomes durable, and nothing that a start found and is over', () => {
    for (const state of ['ok', 'recovered', 'empty'] as const) {
      assert.equal(checkpointCondition({ state, reason: 'a file was damaged' }, undefined), undefined, state);
      const reason = 'a file was damaged; lists are not written';
      assert.equal(checkpointCondition({ state, reason }, 'lists are not written'), 'lists are not written', state);
    }
    for (const state of ['not-writable', 'newer-format'] as const) {
      assert.equal(checkpointCondition({ state, reason: 'EIO' }, undefined), `the checkpoint is ${state}: EIO`);
    }
  });
});
