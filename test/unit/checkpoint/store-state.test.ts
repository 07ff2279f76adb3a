import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StoreState } from '../../../src/checkpoint/store-state.js';
import type { CheckpointView } from '../../../src/model/views.js';

const view = (state: CheckpointView['state'], reason = ''): CheckpointView => ({
  ...{ state, reason, generation: 1, bytes: 0, lastWrite: '' },
});

describe('the state of the checkpoint', () => {
  it('is told as a problem or none, and those who wait for the disk hear when there is none', () => {
    const told: (string | undefined)[] = [];
    let caughtUp = 0;
    const state = new StoreState((problem) => told.push(problem));
    state.listeners.follow({ caughtUp: () => (caughtUp += 1) });
    state.is(view('not-writable', 'the disk is full'), undefined);
    assert.deepEqual([told, caughtUp], [['the checkpoint is not-writable: the disk is full'], 0]);
    state.is(view('recovered'), undefined);
    assert.deepEqual([told.at(-1), caughtUp], [undefined, 1]);
    state.is(view('recovered'), 'lists have no room');
    assert.deepEqual([told.at(-1), caughtUp], ['lists have no room', 2]);
  });
});
