import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const forever = (): AbortSignal => new AbortController().signal;

/** What a request of root came to: `given`, or the code of the refusal. */
async function outcome(allocations: Allocations, raw: RawRequest, signal = forever()): Promise<string> {
  const result = await allocations.allocate(raw, { uid: 0, process: undefined }, signal);
  return result.ok ? 'given' : result.refusal.code;
}

describe('a request whose lists are not at hand', () => {
  it('is given up when its caller goes away, and what it marked is free', async () => {
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
    assert.equal(answers.length, 8, 'who left the line is not asked for');
    const next = outcome(allocations, request(GPU, { key: 'next' }));
    await machine.clock.settle();
    answers[8]?.();
    assert.equal(await next, 'given');
  });
});
