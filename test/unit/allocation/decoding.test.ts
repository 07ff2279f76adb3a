import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Counted } from '../../../src/model/device-use.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const STRANGER = 4001;

/** A plugin whose answers to Allocate, or about what it prefers, take so long to be decoded. */
async function world(which: 'allocate' | 'preferred', ms: number, fails = false) {
  const machine = new FakeMachine();
  const gpu = machine.offer(GPU, ...Array.from({ length: 8 }, (_, nth) => `g${String(nth)}`));
  const decoded = <T>(counted: Counted, answer: T): T =>
    counted(() => {
      machine.clock.pass(ms);
      if (fails) throw new Error('it cannot be decoded');
      return answer;
    });
  if (which === 'preferred') gpu.preferred = async (_, counted) => decoded(counted, await Promise.resolve(['g0']));
  else gpu.allocate = async (_, counted) => decoded(counted, await Promise.resolve(NO_ANSWER));
  const { allocations } = await allocationWorld(machine);
  const give = async (uid: number): Promise<string> => {
    const asked = request(GPU, { key: String(machine.clock.mono()) });
    const result = await allocations.allocate(asked, { uid, process: undefined }, new AbortController().signal);
    machine.clock.pass(1); // another key
    return result.ok ? 'given' : result.refusal.code;
  };
  return { give };
}

describe('the time that decoding the answer of a plugin takes', () => {
  for (const which of ['allocate', 'preferred'] as const) {
    it(`to a call (${which}) is that of the ordinary user who wants devices`, async () => {
      const { give } = await world(which, 300);
      assert.deepEqual([await give(STRANGER), await give(STRANGER)], ['given', 'FLOOD_ALLOCATE']);
      assert.deepEqual([await give(0), await give(0), await give(4002)], ['given', 'given', 'given']);
    });

    it(`to a call (${which}) counts where it fails, too`, async () => {
      const { give } = await world(which, 300, true);
      assert.equal(await give(STRANGER), which === 'allocate' ? 'PLUGIN_FAILED' : 'given');
      assert.equal(await give(STRANGER), 'FLOOD_ALLOCATE');
    });
  }
});

describe('the answers of the plugins of one lease', () => {
  /** Two plugins that answer so many variables together. */
  async function given(variables: number): Promise<string> {
    const machine = new FakeMachine();
    for (const [resource, count] of [
      ['v/a', 5000],
      ['v/b', variables - 5000],
    ] as const) {
      const envs = new Map(Array.from({ length: count }, (_, nth) => [`${resource} ${String(nth)}`, '']));
      machine.offer(resource, 'd').allocate = () => Promise.resolve({ ...NO_ANSWER, envs });
    }
    const { allocations } = await allocationWorld(machine);
    const wants = ['v/a', 'v/b'].map((resource) => ({ resource, count: 1, ids: [], numa: '' }));
    const caller = { uid: 0, process: undefined };
    const result = await allocations.allocate(
      { ...request('v/a', { key: 'k' }), wants },
      caller,
      new AbortController().signal,
    );
    return result.ok ? 'given' : `${result.refusal.code} ${result.refusal.message}`;
  }

  it('have 8,192 parts at most, because every reader of the lease is told each of them', async () => {
    assert.equal(await given(8192), 'given');
    assert.match(await given(8193), /^PLUGIN_FAILED its plugins answered 8193 variables, mounts and others together/);
  });
});

describe('a lease of many plugins', () => {
  it('costs an ordinary user each further call, and root nothing', async () => {
    const machine = new FakeMachine();
    const names = Array.from({ length: 64 }, (_, nth) => `v/r${String(nth)}`);
    for (const name of names) machine.offer(name, 'd');
    const { allocations } = await allocationWorld(machine);
    const tookMs = async (uid: number, count: number): Promise<number> => {
      const wants = names.slice(0, count).flatMap((name) => request(name, {}).wants);
      const caller = { uid, process: undefined };
      const startedAt = machine.clock.mono();
      for (let round = 0; round < 20; round++) {
        const asked = { ...request('', { key: 'k' }), wants };
        const result = await machine.clock.until(allocations.allocate(asked, caller, new AbortController().signal));
        assert.ok(result.ok);
        await allocations.release({ id: result.value.id, key: '' }, caller);
      }
      return machine.clock.mono() - startedAt;
    };
    const many = await tookMs(STRANGER, 64);
    assert.ok(many > 4000 && many < 6000, String(many));
    assert.deepEqual([await tookMs(0, 64), await tookMs(4002, 1)], [0, 0]);
  });
});

describe('the time for deciding about requests that wait', () => {
  it('is not spent by another user that comes and leaves, and is none of that for requests that come', async () => {
    const machine = new FakeMachine();
    const gpu = machine.offer(GPU, 'g0');
    machine.offer('v/small', ...Array.from({ length: 200 }, (_, nth) => String(nth)));
    const { allocations } = await allocationWorld(machine);
    const ask = (uid: number, resource: string, more: Parameters<typeof request>[1], signal: AbortSignal) =>
      allocations.allocate(request(resource, more), { uid, process: undefined }, signal);
    const never = new AbortController().signal;
    assert.ok((await ask(0, GPU, { key: 'holder' }, never)).ok);
    const { devices } = gpu;
    let looks = 0;
    Object.defineProperty(gpu, 'devices', { get: () => (machine.clock.pass(20), (looks += 1), devices) });
    void ask(4002, GPU, { key: 'waits', waitMs: 3_600_000 }, never);
    const small = async (nth: number): Promise<boolean> =>
      (await machine.clock.until(ask(4002, 'v/small', { key: `s${String(nth)}` }, never))).ok;
    for (let nth = 0; nth < 100; nth++) {
      const gone = new AbortController();
      const left = ask(STRANGER, GPU, { key: `a${String(nth)}`, waitMs: 60_000 }, gone.signal).catch(() => undefined);
      gone.abort(new Error('left'));
      await left;
      assert.ok(await small(nth), `round ${String(nth)}`);
    }
    assert.ok(looks < 150, `${String(looks)} looks at the list`);
    // Each list of the plugin has the request that waits tried again, in its own time.
    for (let nth = 0; nth < 100; nth++) allocations.changed(new Set([GPU]));
    assert.ok(await small(100));
  });
});
