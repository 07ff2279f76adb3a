import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { allocationWorld, FakeMachine, request, type FakeResource } from '../../support/allocation-world.js';

const GPU = 'v/gpu';
const STRANGER = 4001;

async function give(allocations: Allocations, uid: number, more: Parameters<typeof request>[1] = {}): Promise<string> {
  const caller = { uid, process: undefined };
  const result = await allocations.allocate(request(GPU, { key: 'k', ...more }), caller, new AbortController().signal);
  assert.ok(result.ok, result.ok ? '' : result.refusal.message);
  return (result.value.granted[0]?.devices ?? []).map(({ id }) => id).join(' ');
}

function world(devices: number, preferred: readonly string[], stranger?: number) {
  const machine = new FakeMachine();
  const gpu: FakeResource = machine.offer(GPU, ...Array.from({ length: devices }, (_, nth) => `g${String(nth)}`));
  const questions: (readonly string[])[] = [];
  gpu.preferred = (available) => {
    questions.push(available);
    return Promise.resolve(preferred);
  };
  if (stranger !== undefined) gpu.stranger = stranger;
  return { machine, gpu, questions, opened: allocationWorld(machine) };
}

describe('answers of GetPreferredAllocation that come together', () => {
  it('give a device that all of them name to one lease alone', async () => {
    const { gpu, opened } = world(16, []);
    let answer = (_ids: readonly string[]): void => undefined;
    const answered = new Promise<readonly string[]>((resolve) => (answer = resolve));
    let asked = 0;
    gpu.preferred = () => {
      asked += 1;
      if (asked === 8) answer(['g15']);
      return answered;
    };
    const { allocations } = await opened;
    const given = await Promise.all(Array.from({ length: 8 }, (_, nth) => give(allocations, 0, { key: String(nth) })));
    assert.equal(new Set(given).size, 8, given.join(' '));
    assert.ok(given.includes('g15'));
  });
});

describe('GetPreferredAllocation for a request of several resources', () => {
  it('has the time of one: until they are given, nobody else has its devices', async () => {
    const { machine, gpu, opened } = world(2, []);
    const asked: string[] = [];
    gpu.preferred = (available) => {
      asked.push(GPU);
      machine.clock.pass(60_000);
      return Promise.resolve(available.slice(-1));
    };
    const other = machine.offer('v/other', 'o0', 'o1');
    other.preferred = () => (asked.push('v/other'), Promise.resolve(['o1']));
    const { allocations } = await opened;
    const wants = [GPU, 'v/other'].flatMap((name) => request(name, {}).wants);
    const caller = { uid: 0, process: undefined };
    const raw = { ...request(GPU, { key: 'k' }), wants };
    assert.ok((await allocations.allocate(raw, caller, new AbortController().signal)).ok);
    assert.deepEqual(asked, [GPU]);
  });
});

describe('GetPreferredAllocation of a plugin with a long list', () => {
  it('is asked of all that is free where the plugin is of root, and of 4,096 devices where it is of an ordinary user', async () => {
    for (const [stranger, asked] of [
      [undefined, 5000],
      [STRANGER, 4096],
    ] as const) {
      const { questions, opened } = world(5000, ['g7'], stranger);
      assert.equal(await give((await opened).allocations, 0), 'g7');
      assert.equal(questions[0]?.length, asked);
    }
  });

  it('is asked with what is marked in front, wherever that is in the list', async () => {
    const { questions, opened } = world(5000, ['g4999', 'g3'], STRANGER);
    assert.equal(await give((await opened).allocations, STRANGER, { count: 2, ids: ['g4999'] }), 'g4999 g3');
    assert.deepEqual(questions[0]?.slice(0, 4), ['g4999', 'g0', 'g1', 'g2']);
  });

  it('may be any device that is free, also one that was not in the question, and none that is not', async () => {
    const { gpu, opened } = world(5000, ['g4500'], STRANGER);
    const { allocations } = await opened;
    assert.equal(await give(allocations, STRANGER, { key: 'a' }), 'g4500');
    assert.equal(await give(allocations, STRANGER, { key: 'b' }), 'g0');
    gpu.preferred = () => Promise.resolve(['g2']);
    for (const device of gpu.devices.slice(2, 3)) device.health = 'Unhealthy';
    assert.equal(await give(allocations, STRANGER, { key: 'c' }), 'g1');
  });

  it('is no answer that names a device twice too often, or more than were asked for', async () => {
    for (const preferred of [['g3', 'g4'], Array.from({ length: 4097 }, () => 'g3'), []]) {
      const { opened } = world(8, preferred);
      assert.equal(await give((await opened).allocations, 0), 'g0');
    }
  });

  it('is asked in the time of the ordinary user that wants devices, and not when that is spent', async () => {
    const { machine, gpu, opened } = world(8, []);
    const { allocations } = await opened;
    const { devices } = gpu;
    let [asked, askMs, lookMs] = [0, 0, 0];
    Object.defineProperty(gpu, 'devices', { get: () => (machine.clock.pass(lookMs), devices) });
    // To ask takes so long, and so does looking at the list for what was answered.
    gpu.preferred = () => {
      asked += 1;
      machine.clock.pass(askMs);
      lookMs = askMs;
      return Promise.resolve(['g7']);
    };
    const next = async (uid: number): Promise<string> => {
      lookMs = 0;
      const raw = request(GPU, { key: String(machine.clock.mono()), ttlMs: 1000 });
      const result = await allocations.allocate(raw, { uid, process: undefined }, new AbortController().signal);
      await machine.clock.advance(2000);
      return result.ok ? 'given' : result.refusal.code;
    };
    askMs = 300;
    assert.equal(await next(STRANGER), 'given');
    assert.equal(await next(STRANGER), 'FLOOD_ALLOCATE');
    assert.equal(await next(0), 'given');
    assert.equal(asked, 2);
    askMs = 0;
    await machine.clock.advance(60_000);
    const offered = gpu.isReady;
    Object.defineProperty(gpu, 'isReady', { get: () => (machine.clock.pass(300), offered) });
    assert.equal(await next(0), 'given');
    assert.equal(asked, 3);
    assert.equal(await next(STRANGER), 'given');
    assert.equal(asked, 3, 'the decision took all the time that there is');
  });
});
