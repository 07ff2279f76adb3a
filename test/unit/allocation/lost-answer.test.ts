import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { noCdi, type AllocationPorts } from '../../../src/allocation/ports.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import type { Lease, LeaseRecord, PluginAnswer } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';

/** The outcome of a request: the id of the lease, or the code of the refusal. */
async function outcome(allocations: Allocations, raw: RawRequest, uid = 0): Promise<string> {
  const result = await allocations.allocate(raw, { uid, process: undefined }, new AbortController().signal);
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

  /** A start with a lease of `g0` whose answer is lost, and its owner that asks once more; the plugin answers when told. */
  async function askedAgain(
    more: Partial<AllocationPorts> = {},
    uid = 0,
    besides: (record: LeaseRecord) => readonly LeaseRecord[] = () => [],
  ) {
    const machine = new FakeMachine();
    const gpu = machine.offer(GPU, 'g0');
    const first = await allocationWorld(machine);
    await outcome(first.allocations, request(GPU, { key: 'k' }), uid);
    first.crash();
    const [record] = machine.disk.values();
    assert.ok(record !== undefined);
    machine.disk.set(record.id, { ...record, answer: { ...NO_ANSWER, isLost: true } });
    for (const other of besides(record)) machine.disk.set(other.id, other);
    const { allocations } = await allocationWorld(machine, more);
    let answer: (answer: PluginAnswer) => void = () => undefined;
    gpu.allocate = () => new Promise((resolve) => (answer = resolve));
    const again = outcome(allocations, request(GPU, { key: 'k' }), uid);
    gpu.allocate = () => Promise.resolve(NO_ANSWER);
    return { machine, allocations, id: record.id, again, answer: (said: PluginAnswer) => answer(said) };
  }

  it('that comes when its lease has ended brings no lease back, whose device somebody else has by now', async () => {
    const written: string[] = [];
    const cdi = { ...noCdi, write: ({ id }: Lease) => (written.push(id), Promise.resolve({ name: `a/b=${id}` })) };
    const { machine, allocations, id, again, answer } = await askedAgain({ cdi });
    await allocations.release({ id, key: '' }, { uid: 0, process: undefined });
    const next = await outcome(allocations, request(GPU, { key: 'next' }));
    answer(NO_ANSWER);
    assert.equal(await again, 'LEASE_UNKNOWN');
    assert.deepEqual([[...machine.disk.keys()], written], [[next], [next]]);
  });

  it('whose lease ends while it is written is not told as one that lives', async () => {
    let written: (result: { name: string }) => void = () => undefined;
    const removed: string[] = [];
    const cdi = {
      ...noCdi,
      write: () => new Promise<{ name: string }>((resolve) => (written = resolve)),
      remove: (id: string) => (removed.push(id), Promise.resolve()),
    };
    const { machine, allocations, id, again, answer } = await askedAgain({ cdi });
    answer(NO_ANSWER);
    await machine.clock.settle();
    await allocations.release({ id, key: '' }, { uid: 0, process: undefined });
    written({ name: `a/b=${id}` });
    assert.equal(await again, 'LEASE_UNKNOWN');
    assert.deepEqual([[...machine.disk.keys()], removed], [[], [id, id]]);
  });

  it('is asked for once, however many ask with its key at once', async () => {
    const { machine, allocations, id, again, answer } = await askedAgain();
    const gpu = machine.resources.get(GPU);
    assert.ok(gpu !== undefined);
    gpu.allocate = () => assert.fail('it was asked twice');
    const other = outcome(allocations, request(GPU, { key: 'k' }));
    answer(NO_ANSWER);
    assert.deepEqual(await Promise.all([again, other]), [id, id]);
  });

  it('that is too long for what a user has room for is refused, and stays lost', async () => {
    const long = { ...NO_ANSWER, envs: new Map([['LONG', 'x'.repeat(1024 * 1024)]]) };
    const fill = (record: LeaseRecord): LeaseRecord[] => [
      { ...record, id: `${record.id}2`, key: 'other', granted: [], answer: long },
    ];
    const { allocations, id, again, answer } = await askedAgain({}, 4001, fill);
    answer(NO_ANSWER);
    assert.equal(await again, 'LEASES_FULL');
    const [lost] = allocations.leases().filter((one) => one.id === id);
    assert.deepEqual([lost?.state, lost?.answer.isLost], ['unconfirmed', true]);
  });
});
