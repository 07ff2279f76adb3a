import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { noCdi } from '../../../src/allocation/ports.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import type { Lease } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';

/** What a request came to: the id of the lease, or the code of the refusal. */
async function outcome(allocations: Allocations, raw: RawRequest): Promise<string> {
  const result = await allocations.allocate(raw, { uid: 0, process: undefined }, new AbortController().signal);
  return result.ok ? result.value.id : result.refusal.code;
}

describe('an answer that is lost', () => {
  it('impairs its lease, whose devices stay taken, until its plugin is asked once more for them by its key', async () => {
    const machine = new FakeMachine();
    const gpu = machine.offer(GPU, 'g0', 'g1');
    const first = await allocationWorld(machine);
    await outcome(first.allocations, request(GPU, { key: 'k', ids: ['g1'] }));
    first.crash();
    const [record] = machine.disk.values();
    assert.ok(record !== undefined);
    machine.disk.set(record.id, { ...record, answer: { ...NO_ANSWER, isLost: true } });
    const written: string[] = [];
    const cdi = {
      ...noCdi,
      write: (lease: Lease) => {
        written.push(lease.answer.envs.get('IDS') ?? '');
        return Promise.resolve({ name: `a/b=${lease.id}` });
      },
    };
    const { allocations } = await allocationWorld(machine, { cdi });
    allocations.keeper.settled();
    const seen = (): unknown[] => allocations.leases().map(({ id, state, reason }) => [id, state, reason]);
    assert.deepEqual(seen(), [[record.id, 'impaired', 'answer-lost']]);
    assert.equal(await outcome(allocations, request(GPU, { ids: ['g1'], key: 'other' })), 'DEVICE_TAKEN');
    gpu.allocate = () => Promise.reject(new Error('not now'));
    assert.equal(await outcome(allocations, request(GPU, { key: 'k', ids: ['g1'] })), 'PLUGIN_FAILED');
    gpu.allocate = (ids) => Promise.resolve({ ...NO_ANSWER, envs: new Map([['IDS', ids.join()]]) });
    assert.equal(await outcome(allocations, request(GPU, { key: 'k', ids: ['g1'] })), record.id);
    assert.deepEqual([seen(), written], [[[record.id, 'active', undefined]], ['g1']]);
    assert.equal(machine.disk.get(record.id)?.answer.envs.get('IDS'), 'g1');
  });
});
