import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';

const GPU = 'v/gpu';
const CALLER = { uid: 4001, process: undefined };

/** Sixteen callers that wait for the same key, and how to hear what became of all that asked. */
async function crowd() {
  const machine = new FakeMachine();
  machine.offer(GPU, 'g0');
  const { allocations } = await allocationWorld(machine);
  const holder = await allocations.allocate(
    request(GPU, { key: 'holder' }),
    { uid: 0, process: undefined },
    new AbortController().signal,
  );
  assert.ok(holder.ok);
  const ask = async (signal = new AbortController().signal): Promise<string> => {
    const asked = request(GPU, { key: 'k', waitMs: 3_600_000 });
    const result = await allocations.allocate(asked, CALLER, signal);
    return result.ok ? 'given' : result.refusal.code;
  };
  const first = new AbortController();
  const gone = ask(first.signal).catch(() => 'gone');
  const others = Array.from({ length: 15 }, () => ask());
  const free = () => allocations.release({ id: holder.value.id, key: '' }, { uid: 0, process: undefined });
  return { ask, others, free, gone, first };
}

describe('callers that ask with the same key meanwhile', () => {
  it('are sixteen at most: all of them are answered in one turn, with all that the lease has', async () => {
    const { ask, others, free, gone } = await crowd();
    assert.equal(await ask(), 'QUEUE_FULL');
    await free();
    assert.deepEqual(new Set(await Promise.all([gone, ...others])), new Set(['given']));
    assert.equal(await ask(), 'given'); // the key has a lease now
  });

  it('make room for another one when they leave', async () => {
    const { ask, free, gone, first } = await crowd();
    first.abort(new Error('left'));
    assert.equal(await gone, 'gone');
    const next = ask();
    await free();
    assert.equal(await next, 'given');
  });
});
