import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../../../src/kernel/clock.js';
import type { Allocations } from '../../../src/allocation/allocations.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import { DEVICES_ENV, leaseEnvs } from '../../../src/model/lease.js';
import { allocationWorld, type MorePorts, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const EVIL = 'evil/one';
const STRANGER = 4001;
const OTHER = 4002;

async function ask(allocations: Allocations, raw: RawRequest, uid: number): Promise<string> {
  const result = await allocations.allocate(raw, { uid, process: undefined }, new AbortController().signal);
  return result.ok ? 'given' : result.refusal.code;
}

async function askMany(allocations: Allocations, uid: number, count: number, resource = GPU): Promise<Set<string>> {
  const codes = new Set<string>();
  for (let nth = 0; nth < count; nth += 1)
    codes.add(await ask(allocations, request(resource, { key: `${String(uid)}-${String(nth)}` }), uid));
  return codes;
}

function world(devices: number, more: MorePorts = {}) {
  const machine = new FakeMachine();
  machine.offer(GPU, ...Array.from({ length: devices }, (_, nth) => `g${String(nth)}`));
  machine.offer(EVIL, 'e0');
  return { machine, opened: allocationWorld(machine, more) };
}

const settings = { enabled: true, group: '', checkMs: 10_000, joinEnv: [], maxLeases: 16 };

describe("one ordinary user's share", () => {
  it('is a quarter of the leases, all such users together three, and root and the own user the rest', async () => {
    const { allocations } = await world(64, { settings }).opened;
    assert.deepEqual([...(await askMany(allocations, STRANGER, 5))], ['given', 'LEASES_FULL']);
    assert.equal(allocations.leases().length, 4);
    for (const uid of [4002, 4003, 4004]) await askMany(allocations, uid, 5);
    assert.equal(allocations.leases().length, 12);
    assert.deepEqual([...(await askMany(allocations, 0, 2))], ['given']);
    assert.deepEqual([...(await askMany(allocations, 1000, 2))], ['given']);
    assert.deepEqual([...(await askMany(allocations, 0, 4))], ['given', 'LEASES_FULL']);
  });

  it('is that of one for all uids of its range', async () => {
    const userOf = (uid: number): number => (uid >= 100_000 ? STRANGER : uid);
    const policy = () => ({ uids: undefined, max: 3, consumer: undefined, env: new Map<string, 'ids'>() });
    const { allocations } = await world(64, { settings, userOf, rules: { allocateOf: policy } }).opened;
    assert.deepEqual([...(await askMany(allocations, 100_000, 4))], ['given', 'UID_LIMIT']);
    assert.deepEqual([...(await askMany(allocations, 100_001, 1))], ['UID_LIMIT']);
    assert.equal(await ask(allocations, request(EVIL, { key: 'e' }), 100_002), 'given');
    assert.deepEqual([...(await askMany(allocations, STRANGER, 1, 'v/none'))], ['LEASES_FULL']);
    assert.deepEqual([...(await askMany(allocations, OTHER, 3))], ['given']);
  });

  it('is fewer than 4,096 devices, each counted for every NUMA node: all of them are told in one turn', async () => {
    const { machine, opened } = world(8 * 1024);
    const { allocations } = await opened;
    const four = async (uid: number): Promise<string[]> => {
      const codes = [];
      for (const key of ['a', 'b', 'c', 'd'])
        codes.push(await ask(allocations, request(GPU, { key, count: 1024 }), uid));
      return codes;
    };
    assert.deepEqual(await four(STRANGER), ['given', 'given', 'given', 'LEASES_FULL']);
    assert.deepEqual(new Set(await four(0)), new Set(['given']));
    const numaNodes = Array.from({ length: 64 }, (_, node) => node);
    for (const device of machine.offer(EVIL, ...Array.from({ length: 64 }, (_, nth) => String(nth))).devices)
      device.numaNodes = numaNodes;
    assert.equal(await ask(allocations, request(EVIL, { key: 'e', count: 64 }), OTHER), 'LEASES_FULL');
    assert.equal(await ask(allocations, request(EVIL, { key: 'e', count: 32 }), OTHER), 'given');
  });

  it('is a quarter of the places in line', async () => {
    const { allocations } = await world(0).opened;
    const waits = (uid: number, nth: number): Promise<string> =>
      ask(allocations, request(GPU, { key: String(nth), waitMs: 60_000 }), uid);
    const own = Array.from({ length: 64 }, (_, nth) => waits(STRANGER, nth));
    assert.equal(await waits(STRANGER, 64), 'QUEUE_FULL');
    const others = waits(OTHER, 0);
    assert.equal(allocations.waiting, 65);
    allocations.stop();
    await Promise.all([...own, others]);
  });

  it('is a megabyte of the checkpoint, with the ids that plugins and callers chose', async () => {
    const machine = new FakeMachine();
    const ids = Array.from({ length: 4096 }, (_, nth) => 'x'.repeat(250) + String(nth));
    machine.offer(GPU, ...ids).allocate = () => Promise.resolve({ ...NO_ANSWER });
    const { allocations } = await allocationWorld(machine);
    const large = (uid: number, nth: number): Promise<string> => {
      const named = ids.slice(nth * 1000, (nth + 1) * 1000);
      return ask(allocations, request(GPU, { key: String(nth), ids: named }), uid);
    };
    assert.equal(await large(STRANGER, 0), 'given');
    assert.equal(await large(STRANGER, 1), 'LEASES_FULL');
    assert.equal(await large(0, 1), 'given');
    assert.equal(await large(0, 2), 'given');
  });
});

describe('an ordinary user that waits', () => {
  const both = {
    key: 'both',
    waitMs: 60_000,
    wants: [GPU, EVIL].map((resource) => ({ resource, count: 1, ids: [], numa: '' })),
  };

  it('for something else as well keeps only its own requests from what is free', async () => {
    const { machine, opened } = world(4);
    const { allocations } = await opened;
    await ask(allocations, request(EVIL, { key: 'held' }), STRANGER);
    const waiting = ask(allocations, { ...request(GPU), ...both }, STRANGER);
    await machine.clock.settle();
    assert.equal(await ask(allocations, request(GPU, { key: 'k' }), 0), 'given');
    assert.equal(await ask(allocations, request(GPU, { key: 'k' }), OTHER), 'given');
    assert.equal(await ask(allocations, request(GPU, { key: 'k' }), STRANGER), 'NO_DEVICES');
    await allocations.release({ id: '', key: 'held' }, { uid: STRANGER, process: undefined });
    assert.equal(await waiting, 'given');
  });

  for (const [what, raw] of [
    ['a device that somebody has', request(GPU, { key: 'w', waitMs: 60_000, ids: ['g0'] })],
    ['more devices than there are', request(GPU, { key: 'w', waitMs: 60_000, count: 5 })],
    ['more than others can give back beside a broken one', request(GPU, { key: 'w', waitMs: 60_000, count: 4 })],
    ['what it has itself', request(GPU, { key: 'w', waitMs: 60_000, count: 3 })],
  ] as const) {
    it(`for ${what} keeps nobody from the others`, async () => {
      const { machine, opened } = world(4);
      const gpu = machine.resources.get(GPU);
      const { allocations } = await opened;
      await ask(allocations, request(GPU, { key: 'has', ids: ['g0'] }), 0);
      await ask(allocations, request(GPU, { key: 'own', ids: ['g1'] }), STRANGER);
      if (gpu !== undefined)
        gpu.devices = gpu.devices.map((one) => (one.id === 'g3' ? { ...one, health: 'Unhealthy' } : one));
      const waiting = ask(allocations, raw, STRANGER);
      assert.equal(await ask(allocations, request(GPU, { key: 'k' }), 0), 'given');
      allocations.stop();
      assert.equal(await waiting, 'ALLOCATOR_STOPPING');
    });
  }

  it('for an end of its own limit keeps nobody waiting', async () => {
    const policy = () => ({ uids: undefined, max: 1, consumer: undefined, env: new Map<string, 'ids'>() });
    const { allocations } = await world(4, { rules: { allocateOf: policy } }).opened;
    await ask(allocations, request(GPU, { key: 'has' }), STRANGER);
    const waiting = ask(allocations, request(GPU, { key: 'more', waitMs: 60_000 }), STRANGER);
    assert.equal(await ask(allocations, request(GPU, { key: 'k' }), OTHER), 'given');
    allocations.stop();
    assert.equal(await waiting, 'ALLOCATOR_STOPPING');
  });

  it('for devices that are too few keeps its place before others, as everybody does', async () => {
    const { allocations } = await world(2).opened;
    await ask(allocations, request(GPU, { key: 'has' }), 0);
    const waiting = ask(allocations, request(GPU, { key: 'w', waitMs: 60_000, count: 2 }), STRANGER);
    assert.equal(await ask(allocations, request(GPU, { key: 'k' }), OTHER), 'NO_DEVICES');
    await allocations.release({ id: '', key: 'has' }, { uid: 0, process: undefined });
    assert.equal(await waiting, 'given');
  });
});

describe('an ordinary user that has all the leases it may have', () => {
  /** Of sixteen leases it has four, and one request that waits. `asks`: how often it was asked who counts as one user. */
  async function waiting(askingMs = 0) {
    let [asked, spent] = [0, 0];
    let isInLine = false;
    const machine = new FakeMachine();
    machine.offer(GPU, ...Array.from({ length: 32 }, (_, nth) => `g${String(nth)}`));
    machine.offer(EVIL, 'e0');
    const userOf = (uid: number): number => {
      asked += 1;
      if (isInLine) spent += askingMs;
      return uid;
    };
    const clock: Clock = {
      wall: () => machine.clock.wall(),
      mono: () => machine.clock.mono() + spent,
      alarm: (ms, ring) => machine.clock.alarm(ms, ring),
    };
    const { allocations } = await allocationWorld(machine, { settings, userOf, clock });
    await askMany(allocations, STRANGER, 4);
    const waits = ask(allocations, request(EVIL, { key: 'waits', waitMs: 600_000 }), STRANGER);
    await machine.clock.settle();
    assert.equal(allocations.waiting, 1);
    isInLine = true;
    const asks = (): number => asked;
    return { machine, allocations, waits, asks };
  }

  it('is not looked at when lists of others change, and is served when one of its leases ends', async () => {
    const { machine, allocations, waits, asks } = await waiting();
    const before = asks();
    allocations.changed(new Set([GPU]));
    await machine.clock.settle();
    assert.equal(asks(), before);
    const key = `${String(STRANGER)}-0`;
    await allocations.release({ id: '', key }, { uid: STRANGER, process: undefined });
    assert.equal(await waits, 'given');
  });

  it('is told so in its share of the time, and goes on when that is paid', async () => {
    const { machine, allocations, waits } = await waiting(100);
    const again = (): Promise<string> => machine.clock.until(ask(allocations, request(GPU, { key: 'more' }), STRANGER));
    const codes = new Set<string>();
    for (let nth = 0; nth < 4; nth += 1) codes.add(await again());
    assert.ok(codes.has('FLOOD_ALLOCATE'), [...codes].join());
    const key = `${String(STRANGER)}-0`;
    await allocations.release({ id: '', key }, { uid: STRANGER, process: undefined });
    await machine.clock.advance(60_000);
    assert.equal(await waits, 'given');
  });
});

describe('a change', () => {
  it('of one resource has nobody read the lists of others', async () => {
    const { machine, opened } = world(4);
    const reads: string[] = [];
    for (const [name, resource] of machine.resources) {
      const { devices } = resource;
      Object.defineProperty(resource, 'devices', { get: () => (reads.push(name), devices) });
    }
    const { allocations } = await opened;
    await ask(allocations, request(EVIL, { key: 'has' }), STRANGER);
    const waiting = ask(allocations, request(EVIL, { key: 'more', waitMs: 60_000 }), STRANGER);
    reads.length = 0;
    allocations.changed(new Set([GPU]));
    await machine.clock.settle();
    assert.ok(!reads.includes(EVIL), reads.join(' '));
    allocations.stop();
    await waiting;
  });

  it('of a long list is looked at when it is at hand, and one look comes after the other', async () => {
    const { machine, opened } = world(4, {});
    let ready: () => void = () => undefined;
    const { allocations } = await opened;
    await ask(allocations, request(GPU, { key: 'has', ids: ['g0'] }), 0);
    const slow = await allocationWorld(machine, { prepare: () => new Promise<void>((resolve) => (ready = resolve)) });
    const [lease] = slow.allocations.leases();
    assert.ok(lease !== undefined);
    machine.resources.get(GPU)!.devices[0]!.health = 'Unhealthy';
    slow.allocations.changed(new Set([GPU]));
    await machine.clock.settle();
    assert.notEqual(slow.allocations.leases()[0]?.state, 'impaired');
    machine.resources.get(GPU)!.devices[0]!.health = 'Healthy';
    slow.allocations.changed(new Set([GPU]));
    ready();
    await machine.clock.settle();
    ready();
    await machine.clock.settle();
    assert.notEqual(slow.allocations.leases()[0]?.state, 'impaired');
  });
});

describe('a request for devices', () => {
  it('is not decoded where its user asks too often', async () => {
    const { allocations } = await world(4, { flood: { ask: () => 50 } }).opened;
    const decode = (): never => assert.fail('it was decoded');
    const result = await allocations.allocate(
      decode,
      { uid: STRANGER, process: undefined },
      new AbortController().signal,
    );
    assert.equal(result.ok ? '' : result.refusal.code, 'FLOOD_ALLOCATE');
  });
});

describe('requests about a long list', () => {
  it('of one ordinary user are decided about one by one in a tenth of the time, those of root and about shorter ones at once', async () => {
    for (const [devices, uid, givenAfter] of [
      [20_000, STRANGER, [0, 1, 2, 8]],
      [20_000, 0, [8, 8, 8, 8]],
      [16_384, STRANGER, [8, 8, 8, 8]],
    ] as const) {
      const { machine, opened } = world(devices);
      const { allocations } = await opened;
      const keys = Array.from({ length: 8 }, (_, nth) => String(nth));
      const asked = keys.map((key) => ask(allocations, request(GPU, { key, ids: [`g${key}`] }), uid));
      const given: number[] = [];
      for (const ms of [19, 1, 20, 120]) {
        await machine.clock.advance(ms);
        given.push(allocations.leases().length);
      }
      assert.deepEqual(given, givenAfter);
      assert.deepEqual(new Set(await Promise.all(asked)), new Set(['given']));
      allocations.stop();
    }
  });

  it('wait in the share of waiting requests, also those that said they do not wait', async () => {
    const { machine, opened } = world(20_000);
    const { allocations } = await opened;
    const codes: string[] = [];
    for (let nth = 0; nth < 80; nth++)
      void ask(allocations, request(GPU, { key: String(nth) }), STRANGER).then((code) => codes.push(code));
    await machine.clock.advance(0);
    assert.deepEqual(
      codes,
      Array.from({ length: 16 }, () => 'QUEUE_FULL'),
    );
    const others = [0, STRANGER + 1].map((uid) => ask(allocations, request(GPU, { key: 'other' }), uid));
    await machine.clock.advance(20);
    assert.deepEqual(await Promise.all(others), ['given', 'given']);
    const another = ask(allocations, request(GPU, { key: 'another' }), STRANGER);
    await machine.clock.advance(64 * 20);
    assert.equal(await another, 'given');
    allocations.stop();
  });

  it('let those behind them go on when their caller hangs up', async () => {
    const ready: (() => void)[] = [];
    const prepare = () => new Promise<void>((resolve) => void ready.push(resolve));
    const { machine, opened } = world(20_000, { prepare });
    const { allocations } = await opened;
    const halt = new AbortController();
    const caller = { uid: STRANGER, process: undefined };
    const first = allocations.allocate(request(GPU, { key: 'a' }), caller, halt.signal);
    const second = allocations.allocate(request(GPU, { key: 'b' }), caller, new AbortController().signal);
    await machine.clock.advance(20);
    assert.equal(ready.length, 1);
    halt.abort(new Error('hung up'));
    await assert.rejects(first, /hung up/);
    await machine.clock.advance(20);
    assert.equal(ready.length, 2);
    ready[1]?.();
    assert.equal((await second).ok, true);
    allocations.stop();
  });
});

describe('calls about leases', () => {
  it('have a bucket of their own, but for root and the own user', async () => {
    const asked: string[] = [];
    const flood = (uid: number, about: string): number | undefined => {
      asked.push(`${String(uid)} ${about}`);
      return about === 'leases' ? 50 : undefined;
    };
    const { allocations } = await world(4, { flood: { ask: flood } }).opened;
    const none = { id: '', key: 'none' };
    for (const call of ['renew', 'release'] as const) {
      const refused = await allocations[call](none, { uid: STRANGER, process: undefined });
      assert.ok(!refused.ok);
      assert.equal(refused.refusal.code, 'FLOOD_ALLOCATE');
    }
    for (const uid of [0, 1000]) assert.ok((await allocations.release(none, { uid, process: undefined })).ok);
    await ask(allocations, request(GPU, { key: 'has' }), STRANGER);
    const given = await allocations.release({ id: '', key: 'has' }, { uid: STRANGER, process: undefined });
    const attached = allocations.attach(
      { id: '', key: 'no' },
      { uid: STRANGER, process: undefined },
      () => undefined,
      new AbortController().signal,
    );
    assert.equal(attached.ok ? '' : attached.refusal.code, 'FLOOD_ALLOCATE');
    asked.splice(asked.lastIndexOf(`${String(STRANGER)} leases`), 1);
    assert.ok(given.ok && given.value.wasHeld, 'a call that gives devices back is never too often');
    asked.splice(asked.indexOf(`${String(STRANGER)} devices`), 1);
    assert.deepEqual(asked, [`${String(STRANGER)} leases`, `${String(STRANGER)} leases`]);
  });
});

describe('deciding about requests', () => {
  it('of an ordinary user is put off where it took long, and goes on by itself; of root it is not', async () => {
    const machine = new FakeMachine();
    machine.offer(GPU, 'g0', 'g1', 'g2');
    const evil = machine.offer(EVIL, 'e0');
    let spent = 0;
    const clock: Clock = {
      wall: () => machine.clock.wall(),
      mono: () => machine.clock.mono() + spent,
      alarm: (ms, ring) => machine.clock.alarm(ms, ring),
    };
    const { devices } = evil;
    Object.defineProperty(evil, 'devices', {
      get: () => {
        spent += 1000;
        return devices;
      },
    });
    const { allocations } = await allocationWorld(machine, { clock });
    assert.equal(await ask(allocations, request(EVIL, { key: 'none', ids: ['x'] }), STRANGER), 'DEVICE_UNKNOWN');
    assert.equal(await ask(allocations, request(EVIL, { key: 'soon' }), STRANGER), 'FLOOD_ALLOCATE');
    assert.equal(await ask(allocations, request(GPU, { key: 'soon' }), STRANGER), 'FLOOD_ALLOCATE');
    assert.equal(await ask(allocations, request(GPU, { key: 'other' }), OTHER), 'given');
    const waits = ask(allocations, request(GPU, { key: 'waits', waitMs: 600_000 }), STRANGER);
    for (let nth = 0; nth < 5; nth += 1)
      assert.equal(await ask(allocations, request(EVIL, { key: `r${String(nth)}`, ids: ['x'] }), 0), 'DEVICE_UNKNOWN');
    await machine.clock.advance(60_000);
    assert.equal(await waits, 'given');
  });

  it('does not look through the long lists of several resources for an ordinary user', async () => {
    const machine = new FakeMachine();
    const ids = Array.from({ length: 40_000 }, (_, nth) => String(nth));
    for (const resource of [GPU, EVIL]) machine.offer(resource, ...ids);
    const { allocations } = await allocationWorld(machine);
    const both = { wants: [GPU, EVIL].map((resource) => ({ resource, count: 1, ids: [], numa: '' })) };
    assert.equal(await ask(allocations, { ...request(GPU), ...both, key: 'both' }, STRANGER), 'WANT_INVALID');
    const one = ask(allocations, request(GPU, { key: 'one' }), STRANGER);
    await machine.clock.advance(40);
    assert.equal(await one, 'given');
    assert.equal(await ask(allocations, { ...request(GPU), ...both, key: 'both' }, 0), 'given');
  });

  it('waits for no long list that it is not about', async () => {
    let isSlow = false;
    const { machine, opened } = world(1, {
      prepare: (names) => ([...names].includes(EVIL) && isSlow ? new Promise(() => undefined) : undefined),
    });
    const { allocations } = await opened;
    for (const resource of [GPU, EVIL]) await ask(allocations, request(resource, { key: resource }), 0);
    const waiting = [GPU, EVIL].map((resource) =>
      ask(allocations, request(resource, { key: `${resource} 2`, waitMs: 60_000 }), 0),
    );
    await machine.clock.settle();
    isSlow = true;
    machine.resources.get(GPU)!.devices.push({ id: 'new', health: 'Healthy', numaNodes: [] });
    allocations.changed(new Set([GPU, EVIL]));
    assert.equal(await waiting[0], 'given');
    allocations.stop();
    assert.equal(await waiting[1], 'ALLOCATOR_STOPPING');
  });
});

describe('the followers of a lease', () => {
  it('are 16 at most, and one that leaves makes room', async () => {
    const { allocations } = await world(1).opened;
    const caller = { uid: STRANGER, process: undefined };
    await ask(allocations, request(GPU, { key: 'k' }), STRANGER);
    const follow = (signal: AbortSignal): string => {
      const result = allocations.attach({ id: '', key: 'k' }, caller, () => undefined, signal);
      return result.ok ? 'follows' : result.refusal.code;
    };
    const leaving = new AbortController();
    assert.equal(follow(leaving.signal), 'follows');
    for (let nth = 1; nth < 16; nth += 1) assert.equal(follow(new AbortController().signal), 'follows');
    assert.equal(follow(new AbortController().signal), 'FLOOD_ALLOCATE');
    leaving.abort();
    assert.equal(follow(new AbortController().signal), 'follows');
    allocations.stop();
  });
});

describe('the variables of a lease', () => {
  it('say which devices it has, with any answer of its plugin', () => {
    const envs = new Map([[DEVICES_ENV, 'vendor.example/gpu=0']]);
    const granted = [{ resource: EVIL, devices: [{ id: 'e0', numaNodes: [] }] }];
    assert.equal(leaseEnvs({ id: 'x', granted, answer: { ...NO_ANSWER, envs } }).get(DEVICES_ENV), 'evil/one=e0');
  });
});
