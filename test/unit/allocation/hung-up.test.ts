import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { noCdi } from '../../../src/allocation/ports.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import type { CdiResult } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const forever = (): AbortSignal => new AbortController().signal;

/** The outcome of a request of root: `given`, or the code of the refusal. */
async function outcome(allocations: Allocations, raw: RawRequest, signal = forever()): Promise<string> {
  const result = await allocations.allocate(raw, { uid: 0, process: undefined }, signal);
  return result.ok ? 'given' : result.refusal.code;
}

describe('a request whose lists are not at hand', () => {
  it('is given up when its caller goes away, and the devices that it marked are free', async () => {
    const machine = new FakeMachine();
    machine.offer(GPU, 'g0');
    let prepared: (() => void) | undefined;
    const prepare = () => new Promise<void>((resolve) => (prepared ??= resolve));
    const { allocations } = await allocationWorld(machine, { prepare });
    const gone = new AbortController();
    const asked = outcome(allocations, request(GPU, { key: 'k' }), gone.signal);
    const stopped = outcome(allocations, request(GPU, { key: 'other' }));
    await machine.clock.settle();
    assert.ok(prepared !== undefined);
    gone.abort(new Error('hung up'));
    await assert.rejects(asked, /hung up/);
    allocations.close();
    assert.equal(await stopped, 'ALLOCATOR_STOPPING');
    assert.equal(allocations.allocatedOf(GPU).size, 0);
  });
});

describe('a request whose caller has left', () => {
  it('is asked anew by a request that comes with its key while it is undone', async () => {
    const machine = new FakeMachine();
    const gpu = machine.offer(GPU, 'g0');
    const { allocations } = await allocationWorld(machine);
    const answers: (() => void)[] = [];
    gpu.allocate = () => new Promise((resolve) => answers.push(() => resolve(NO_ANSWER)));
    const gone = new AbortController();
    const left = outcome(allocations, request(GPU, { key: 'k' }), gone.signal);
    await machine.clock.settle();
    assert.equal(answers.length, 1);
    gone.abort(new Error('hung up'));
    const next = [outcome(allocations, request(GPU, { key: 'k' })), outcome(allocations, request(GPU, { key: 'k' }))];
    await assert.rejects(left, /hung up/);
    answers[0]?.();
    await machine.clock.settle();
    assert.equal(answers.length, 2, 'both of the others wait for one answer');
    answers[1]?.();
    assert.deepEqual(await Promise.all(next), ['given', 'given']);
    assert.equal(allocations.leases().length, 1);
  });

  it('has no lease that it was never told of: without a key nobody else could ask for it', async () => {
    for (const key of ['', 'k']) {
      const machine = new FakeMachine();
      machine.offer(GPU, 'g0');
      machine.processes.set(42, '1');
      const gone = new AbortController();
      let written = (_: CdiResult): void => undefined;
      const write = () => new Promise<CdiResult>((resolve) => (written = resolve));
      const { allocations } = await allocationWorld(machine, { cdi: { ...noCdi, write } });
      const bind = key === '' ? 'process' : 'key';
      const raw = request(GPU, { key, owner: { bind, namespace: '', name: '', part: '' } });
      const asked = allocations.allocate(raw, { uid: 7, process: { pid: 42, startTime: '1' } }, gone.signal);
      await machine.clock.settle();
      assert.equal(machine.disk.size, 1);
      gone.abort(new Error('hung up'));
      written({ name: 'pb/lease=1' });
      const told = await asked.then(
        ({ ok }) => ok,
        () => false,
      );
      assert.equal(told, false);
      await machine.clock.settle();
      assert.deepEqual([allocations.leases().length, machine.disk.size], key === '' ? [0, 0] : [1, 1]);
    }
  });

  it('has followed a lease only as long as it was there', async () => {
    const machine = new FakeMachine();
    machine.offer(GPU, 'g0');
    const { allocations } = await allocationWorld(machine);
    await outcome(allocations, request(GPU, { key: 'k' }));
    const root = { uid: 0, process: undefined };
    allocations.attach({ id: '', key: 'k' }, root, () => undefined, AbortSignal.abort());
    assert.deepEqual(allocations.keeper.followers.uids(), []);
  });
});

describe('a request that waits for its turn at a plugin', () => {
  it('gives its device back at once when its caller goes away', async () => {
    const ids = Array.from({ length: 9 }, (_, nth) => `g${String(nth)}`);
    const machine = new FakeMachine();
    const answers: (() => void)[] = [];
    machine.offer(GPU, ...ids).allocate = () => new Promise((resolve) => answers.push(() => resolve(NO_ANSWER)));
    const { allocations } = await allocationWorld(machine);
    const gone = new AbortController();
    const asked = ids.map((id, nth) =>
      outcome(allocations, request(GPU, { key: id, ids: [id] }), nth === 8 ? gone.signal : forever()),
    );
    await machine.clock.settle();
    assert.deepEqual([answers.length, allocations.allocatedOf(GPU).size], [8, 9]);
    gone.abort(new Error('hung up'));
    await assert.rejects(asked[8] ?? Promise.resolve(), /hung up/);
    await machine.clock.settle();
    assert.equal(allocations.allocatedOf(GPU).has('g8'), false);
    for (const answer of answers) answer();
    await Promise.all(asked.slice(0, 8));
    assert.equal(answers.length, 8, 'a request that left the line is not asked for');
    const next = outcome(allocations, request(GPU, { key: 'next' }));
    await machine.clock.settle();
    answers[8]?.();
    assert.equal(await next, 'given');
  });
});
