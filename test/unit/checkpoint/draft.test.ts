import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { entryKey, MAX_TOMBSTONES } from '../../../src/checkpoint/document.js';
import { Draft } from '../../../src/checkpoint/draft.js';
import { facts, list } from '../../support/checkpoint-rig.js';

const stored = { sha256: 'f'.repeat(64), bytes: 16, devices: 1 };

function draft(): Draft {
  return new Draft('boot-2', () => stored);
}

const gpu = facts('vendor.com/gpu');
const key = entryKey(gpu);

describe('the draft of a checkpoint', () => {
  it('stamps a plugin with the boot in which it was put', () => {
    const contents = draft();
    contents.put(gpu);
    assert.equal(contents.plugins.get(key)?.bootId, 'boot-2');
  });

  it('keeps list and unknown fields of an incarnation that registers again', () => {
    const contents = draft();
    contents.put({ ...gpu, extra: new Map([['later', 1]]) });
    contents.setList(key, list(16, 1));
    contents.put({ ...gpu, registrations: 2 });
    const entry = contents.plugins.get(key);
    assert.deepEqual([entry?.registrations, entry?.list, entry?.extra?.get('later')], [2, stored, 1]);
  });

  it('has an entry for each incarnation of a plugin', () => {
    const contents = draft();
    contents.put(gpu);
    contents.put(facts('vendor.com/gpu', 2));
    assert.equal(contents.plugins.size, 2);
  });

  it('ignores late news of an entry that is gone', () => {
    const contents = draft();
    contents.put(gpu);
    contents.remove(key);
    contents.change(key, { primary: false });
    contents.setList(key, list(16, 1));
    assert.equal(contents.plugins.size, 0);
  });

  it('takes a list as a sign of life, and other facts not', () => {
    const contents = draft();
    contents.load(
      {
        generation: 1,
        bootId: 'boot-1',
        writtenAt: '',
        eventSeq: 0,
        plugins: [{ ...gpu, bootId: 'boot-1' }],
        limits: [{ a: 1 }],
        tombstones: [],
        csi: new Map([['d', 1]]),
        ledger: 'ok',
        leases: [],
        extra: new Map(),
      },
      false,
    );
    contents.change(key, { primary: false });
    assert.deepEqual([contents.plugins.get(key)?.bootId, contents.plugins.get(key)?.primary], ['boot-1', false]);
    contents.setList(key, list(16, 1));
    assert.equal(contents.plugins.get(key)?.bootId, 'boot-2');
    assert.deepEqual(contents.limits, [{ a: 1 }]);
  });

  it('keeps a bounded number of tombstones, the newest', () => {
    const contents = draft();
    for (let index = 0; index < MAX_TOMBSTONES + 10; index += 1) {
      const { type, name, socket: incarnation } = facts(`a.b/c${String(index)}`);
      contents.addTombstone({ type, name, incarnation, time: String(index) });
    }
    const times = [...contents.tombstones.values()].map(({ time }) => time);
    assert.deepEqual([times.length, times[0], times.at(-1)], [MAX_TOMBSTONES, '10', String(MAX_TOMBSTONES + 9)]);
    const { type, name, socket: incarnation } = facts('a.b/c10');
    contents.addTombstone({ type, name, incarnation, time: 'again' });
    assert.equal(contents.tombstones.size, MAX_TOMBSTONES);
    assert.equal([...contents.tombstones.values()].at(-1)?.time, 'again');
  });
});
