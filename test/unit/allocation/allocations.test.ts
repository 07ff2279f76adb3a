import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noCdi, type AllocationPorts } from '../../../src/allocation/ports.js';
import { seededRandom } from '../../support/seeded-random.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import type { Lease, LedgerState } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';
import { loadDefaults } from '../../support/test-settings.js';

const GPU = 'vendor.com/gpu';
const NIC = 'vendor.com/nic';
const ROOT = { uid: 0, process: undefined };
const forever = (): AbortSignal => new AbortController().signal;

/** The code of a refused request, or `given`. */
async function codeOf(
  given: Parameters<typeof request>[1],
  {
    machine = plain(),
    ports = {},
    ledger = 'ok',
    resource = GPU,
  }: {
    machine?: FakeMachine;
    ports?: Partial<AllocationPorts>;
    ledger?: LedgerState | 'unread';
    resource?: string;
  } = {},
): Promise<string> {
  const { allocations } = await allocationWorld(machine, ports, ledger);
  const result = await allocations.allocate(
    request(resource, { key: 'k', ...given }),
    { uid: 7, process: undefined },
    forever(),
  );
  return result.ok ? 'given' : result.refusal.code;
}

function plain(): FakeMachine {
  const machine = new FakeMachine();
  machine.offer(GPU, 'a', 'b');
  return machine;
}

describe('a request for devices', () => {
  const policy = { uids: undefined, max: undefined, consumer: undefined, env: new Map<string, 'ids'>() };

  it('is refused with the code that says why', async () => {
    assert.equal(await codeOf({}), 'given');
    assert.equal(await codeOf({ count: -1 }), 'WANT_INVALID');
    assert.equal(await codeOf({}, { resource: 'no.body/has' }), 'RESOURCE_UNKNOWN');
    assert.equal(await codeOf({ ids: ['x'] }), 'DEVICE_UNKNOWN');
    assert.equal(await codeOf({ count: 3 }), 'NO_DEVICES');
    assert.equal(await codeOf({ key: '' }), 'OWNER_NOT_SEEN');
    assert.equal(await codeOf({}, { ledger: 'unknown' }), 'LEDGER_UNKNOWN');
    assert.equal(await codeOf({}, { ports: { flood: { ask: () => 50 } } }), 'FLOOD_ALLOCATE');
    assert.equal(
      await codeOf({}, { ports: { consumers: { of: () => 'kubelet', unsure: () => undefined } } }),
      'CONSUMER_IS_KUBELET',
    );
    assert.equal(
      await codeOf({}, { ports: { rules: { allocateOf: () => ({ ...policy, uids: [8] }) } } }),
      'UID_NOT_ALLOWED',
    );
    assert.equal(
      await codeOf({ count: 2 }, { ports: { rules: { allocateOf: () => ({ ...policy, max: 1 }) } } }),
      'UID_LIMIT',
    );
    const full = { enabled: true, group: '', checkMs: 10_000, joinEnv: [], maxLeases: 0 };
    assert.equal(await codeOf({}, { ports: { settings: full } }), 'LEASES_FULL');
  });

  it('is as large as the limits allow, and is refused as WANT_INVALID beyond them', async () => {
    const machine = new FakeMachine();
    const many = Array.from({ length: 1025 }, (_, nth) => `d${String(nth)}`);
    const resources = Array.from({ length: 65 }, (_, nth) => `vendor.com/r${String(nth)}`);
    for (const resource of [GPU, 'vendor.com/nic']) machine.offer(resource, ...many);
    for (const resource of resources) machine.offer(resource, 'a');
    const wants = (...counts: readonly (readonly [resource: string, count: number])[]) => ({
      wants: counts.map(([resource, count]) => ({ resource, count, ids: [], numa: '' })),
    });
    const one = (resource: string): readonly [string, number] => [resource, 1];
    const HOUR_MS = 3_600_000;
    const rows: readonly (readonly [name: string, given: Parameters<typeof request>[1], code: string])[] = [
      ['64 resources', wants(...resources.slice(1).map(one)), 'given'],
      ['65 resources', wants(...resources.map(one)), 'WANT_INVALID'],
      ['no resource', wants(), 'WANT_INVALID'],
      ['a resource twice', wants([GPU, 1], [GPU, 1]), 'WANT_INVALID'],
      ['1,024 devices', { count: 1024 }, 'given'],
      ['1,025 devices', { count: 1025 }, 'WANT_INVALID'],
      ['1,024 devices of two resources', wants([GPU, 1000], ['vendor.com/nic', 24]), 'given'],
      ['1,025 devices of two resources', wants([GPU, 1000], ['vendor.com/nic', 25]), 'WANT_INVALID'],
      ['1,024 ids', { ids: many.slice(1) }, 'given'],
      ['1,025 ids', { ids: many }, 'WANT_INVALID'],
      ['more ids than devices', { count: 1, ids: ['d0', 'd1'] }, 'WANT_INVALID'],
      ['an id twice', { count: 2, ids: ['d0', 'd0'] }, 'WANT_INVALID'],
      ['an hour of waiting', { waitMs: HOUR_MS }, 'given'],
      ['more than an hour of waiting', { waitMs: HOUR_MS + 1 }, 'WANT_INVALID'],
      ['less than no waiting', { waitMs: -1 }, 'WANT_INVALID'],
      ['a key of 256 bytes', { key: 'k'.repeat(256) }, 'given'],
      ['a key of 257 bytes', { key: 'k'.repeat(257) }, 'WANT_INVALID'],
      ['a time to live without a key', { key: '', ttlMs: 1000 }, 'WANT_INVALID'],
    ];
    for (const [name, given, code] of rows) {
      assert.equal(await codeOf(given, { machine }), code, name);
      machine.disk.clear();
    }
  });

  it('is refused as LEASES_FULL beside the 1,024 leases that the default settings allow, of whatever resources', async () => {
    const machine = new FakeMachine();
    const ids = Array.from({ length: 600 }, (_, nth) => `d${String(nth)}`);
    const resources = [GPU, 'vendor.com/nic'];
    for (const resource of resources) machine.offer(resource, ...ids);
    const { allocations } = await allocationWorld(machine, { settings: loadDefaults('/r').settings.allocator });
    const ask = async (nth: number): Promise<string> => {
      const asked = request(resources[nth % 2] ?? GPU, { key: `k${String(nth)}` });
      const result = await allocations.allocate(asked, ROOT, forever());
      return result.ok ? 'given' : result.refusal.code;
    };
    const codes = await Promise.all(Array.from({ length: 1025 }, (_, nth) => ask(nth)));
    assert.deepEqual([codes.indexOf('LEASES_FULL'), codes.filter((code) => code === 'given').length], [1024, 1024]);
    await allocations.release({ id: '', key: 'k7' }, ROOT);
    assert.equal(await ask(1024), 'given');
  });

  it('for one NUMA node is refused while no node has enough, and waits for one that has', async () => {
    const machine = plain();
    const gpu = machine.offer(GPU);
    gpu.devices = [0, 0, 1, 1].map((node, nth) => ({ id: `d${String(nth)}`, health: 'Healthy', numaNodes: [node] }));
    const { allocations } = await allocationWorld(machine);
    const ask = (key: string, numa: string, count: number, waitMs = 0): ReturnType<typeof allocations.allocate> => {
      const wants = [{ resource: GPU, count, ids: [], numa }];
      return allocations.allocate({ ...request(GPU, { key, waitMs }), wants }, ROOT, forever());
    };
    const idsOf = (result: Awaited<ReturnType<typeof ask>>): readonly string[] =>
      result.ok ? (result.value.granted[0]?.devices.map(({ id }) => id) ?? []) : [result.refusal.code];
    for (const id of ['d0', 'd2']) {
      assert.ok((await allocations.allocate(request(GPU, { key: id, ids: [id] }), ROOT, forever())).ok);
    }
    const refused = await ask('single', 'single', 2);
    assert.ok(!refused.ok);
    assert.equal(refused.refusal.code, 'NO_DEVICES');
    assert.match(refused.refusal.message, /2 of 4 are free, but not on one NUMA node/);
    assert.deepEqual(idsOf(await ask('spread', 'prefer', 2)), ['d1', 'd3']);
    await allocations.release({ id: '', key: 'spread' }, ROOT);
    const waiting = ask('single', 'single', 2, 60_000);
    await machine.clock.settle();
    assert.equal(allocations.waiting, 1);
    await allocations.release({ id: '', key: 'd2' }, ROOT);
    assert.deepEqual(idsOf(await waiting), ['d2', 'd3']);
  });

  it('is counted under its resource, whatever came of it, where a plugin offers that', async () => {
    const counted: string[] = [];
    const metrics = {
      allocation: (resource: string, result: string) => void counted.push(`${resource} ${result}`),
      allocateSeconds: () => undefined,
    };
    await codeOf({}, { ports: { metrics } });
    await codeOf({ count: 3 }, { ports: { metrics } });
    await codeOf({ ids: ['x'] }, { ports: { metrics } });
    // A label that anybody could choose would grow without bound.
    await codeOf({}, { ports: { metrics }, resource: 'no.body/has' });
    await codeOf({ count: -1 }, { ports: { metrics } });
    const failing = plain();
    failing.offer(GPU, 'a').allocate = () => Promise.reject(new Error('no'));
    await codeOf({}, { ports: { metrics }, machine: failing });
    assert.deepEqual(counted, [
      `${GPU} given`,
      `${GPU} NO_DEVICES`,
      `${GPU} DEVICE_UNKNOWN`,
      ' RESOURCE_UNKNOWN',
      ' WANT_INVALID',
      `${GPU} PLUGIN_FAILED`,
    ]);
  });

  it('is refused when its plugin is away, and as NO_DEVICES when nothing would be free anyway', async () => {
    const machine = plain();
    const gpu = machine.offer(GPU, 'a');
    gpu.isReady = false;
    assert.equal(await codeOf({}, { machine }), 'PLUGIN_NOT_READY');
    assert.equal(await codeOf({ count: 2 }, { machine }), 'NO_DEVICES');
  });

  it('leaves no mark when the plugin fails, when its answer is garbage, and when the disk is full', async () => {
    const machine = plain();
    const gpu = machine.offer(GPU, 'a');
    const { allocations } = await allocationWorld(machine);
    const ask = async (): Promise<string> => {
      const result = await allocations.allocate(request(GPU, { key: 'k' }), ROOT, forever());
      return result.ok ? 'given' : result.refusal.code;
    };
    gpu.allocate = () => Promise.reject(new Error('no such card'));
    assert.equal(await ask(), 'PLUGIN_FAILED');
    gpu.allocate = () =>
      Promise.resolve({ ...NO_ANSWER, mounts: [{ containerPath: 'x', hostPath: '/y', readOnly: true }] });
    assert.equal(await ask(), 'PLUGIN_FAILED');
    gpu.allocate = () => Promise.resolve(NO_ANSWER);
    machine.isWritable = false;
    assert.equal(await ask(), 'LEDGER_NOT_WRITABLE');
    assert.deepEqual(allocations.leases(), []);
    machine.isWritable = true;
    assert.equal(await ask(), 'given');
    machine.isWritable = false;
    // A release is never refused: the device is free in memory.
    const released = await allocations.release({ id: '', key: 'k' }, ROOT);
    assert.deepEqual(released.ok && [released.value.wasHeld, released.value.warnings.length], [true, 1]);
    assert.equal(allocations.allocatedOf(GPU).size, 0);
  });

  it('with the same key gives the same lease, and says what differs of another request', async () => {
    const { allocations } = await allocationWorld(plain());
    const [first, twin] = await Promise.all([
      allocations.allocate(request(GPU, { key: 'k' }), ROOT, forever()),
      allocations.allocate(request(GPU, { key: 'k' }), ROOT, forever()),
    ]);
    assert.ok(first.ok && twin.ok);
    assert.equal(twin.value.id, first.value.id);
    const other = await allocations.allocate(request(GPU, { key: 'k', count: 2 }), ROOT, forever());
    assert.ok(!other.ok);
    assert.equal(other.refusal.code, 'KEY_IN_USE');
    assert.match(other.refusal.message, /asked for 1 of vendor.com\/gpu, and now for 2/);
    const stranger = await allocations.release({ id: first.value.id, key: '' }, { uid: 9, process: undefined });
    assert.ok(!stranger.ok);
    assert.equal(stranger.refusal.code, 'NOT_OWNER');
  });

  it('with the same key and another time to live is another request, also while the first is under way', async () => {
    const { allocations } = await allocationWorld(plain());
    const [first, other] = await Promise.all(
      [60_000, 90_000].map((ttlMs) => allocations.allocate(request(GPU, { key: 'k', ttlMs }), ROOT, forever())),
    );
    assert.deepEqual([first?.ok, other?.ok === false && other.refusal.code], [true, 'KEY_IN_USE']);
  });

  it('takes what the plugin prefers where that is possible, and chooses itself otherwise', async () => {
    for (const [preferred, given] of [
      [['b'], 'b'],
      [['x'], 'a'],
      [['a', 'b'], 'a'],
    ] as const) {
      const machine = plain();
      const gpu = machine.offer(GPU, 'a', 'b');
      gpu.preferred = () => Promise.resolve(preferred);
      const { allocations } = await allocationWorld(machine);
      const result = await allocations.allocate(request(GPU, { key: 'k' }), ROOT, forever());
      assert.ok(result.ok);
      assert.deepEqual(result.value.granted[0]?.devices, [{ id: given, numaNodes: [] }]);
    }
  });

  it('of 200 requests for one device serves one after the other, in the order in which they came', async () => {
    const machine = new FakeMachine();
    machine.offer(GPU, 'only');
    const { allocations } = await allocationWorld(machine);
    const served: number[] = [];
    const all = Array.from({ length: 200 }, async (_, index) => {
      const key = `k${String(index)}`;
      const result = await allocations.allocate(request(GPU, { key, waitMs: 60_000 }), ROOT, forever());
      assert.ok(result.ok);
      served.push(index);
      assert.equal(allocations.allocatedOf(GPU).size, 1);
      await allocations.release({ id: result.value.id, key: '' }, ROOT);
    });
    await Promise.all(all);
    assert.deepEqual(
      served,
      Array.from({ length: 200 }, (_, index) => index),
    );
  });
});

describe('the ledger over random lives', () => {
  it('keeps the order of requests that wait for one of two resources or both, through lists, takeovers and crashes, and hands all leases on', async () => {
    const seen = { waited: 0, untold: 0 };
    for (let seed = 1; seed <= 30; seed += 1) {
      const random = seededRandom(seed);
      const pick = (below: number): number => Math.floor(random.next() * below);
      const machine = new FakeMachine();
      const gpu = machine.offer(GPU, 'a', 'b');
      machine.offer(NIC, 'n');
      const known = new Map<string, readonly string[]>();
      const asked = new Map<string, RawRequest>();
      let world = await allocationWorld(machine);
      /** Nobody hears what a life says after it was killed. */
      let life = 1;
      let line: { readonly key: string; readonly wants: readonly string[] }[] = [];
      let given: { readonly me: (typeof line)[number]; readonly before: typeof line }[] = [];
      const settle = async (): Promise<void> => {
        for (let turn = 0; turn < 4; turn += 1) await machine.clock.settle();
      };
      const keep = ({ id, granted }: Lease): void =>
        void known.set(
          id,
          granted.flatMap(({ devices }) => devices.map((device) => device.id)),
        );
      const ask = (key: string): void => {
        const wants = [[GPU], [NIC], [GPU, NIC]][pick(3)] ?? [GPU];
        const me = { key, wants };
        line.push(me);
        const raw = {
          ...request(GPU, { key, waitMs: 3_600_000 }),
          wants: wants.map((resource) => ({ resource, count: 1, ids: [], numa: '' })),
        };
        asked.set(key, raw);
        const now = life;
        void world.allocations.allocate(raw, ROOT, forever()).then((result) => {
          const before = line.slice(0, line.indexOf(me));
          line = line.filter((one) => one !== me);
          if (!result.ok || now !== life) return;
          given.push({ me, before });
          keep(result.value);
        });
      };
      const release = async (): Promise<void> => {
        const [id] = [...known.keys()].slice(pick(Math.max(1, known.size)));
        if (id !== undefined && known.delete(id)) await world.allocations.release({ id, key: '' }, ROOT);
      };
      const list = (): void => {
        gpu.isReady = pick(6) > 0;
        gpu.devices = ['a', 'b']
          .filter(() => pick(4) > 0)
          .map((id) => ({ id, health: pick(5) > 0 ? 'Healthy' : 'Unhealthy', numaNodes: [] }));
        world.allocations.changed();
      };
      /** Those who wait are sent away, what is under way ends, and the successor knows everything. */
      const takeOver = async (): Promise<void> => {
        world.allocations.stop();
        await machine.clock.settle();
        world.allocations.close();
        await machine.clock.settle();
        line = [];
        world = await allocationWorld(machine);
      };
      /** Those who wait are forgotten, and a request under way was recorded or was not: an owner that asks again is told. */
      const crash = async (key: string): Promise<void> => {
        ask(key);
        for (let turn = pick(24); turn > 0; turn -= 1) await Promise.resolve();
        life += 1;
        world.crash();
        await settle();
        line = [];
        world = await allocationWorld(machine);
        for (const lease of world.allocations.leases().filter(({ id }) => !known.has(id))) {
          assert.equal(lease.key, key, `seed ${String(seed)}: nobody asked for this lease in the moment of the crash`);
          const again = await world.allocations.allocate(asked.get(key) ?? request(GPU), ROOT, forever());
          assert.deepEqual(
            again.ok && [again.value.id, again.value.granted],
            [lease.id, lease.granted],
            `seed ${String(seed)}: the key has another lease now`,
          );
          keep(lease);
          seen.untold += 1;
        }
      };
      for (let step = 0; step < 80; step += 1) {
        const what = pick(13);
        if (what < 5) ask(`s${String(step)}`);
        else if (what < 9) await release();
        else if (what < 11) list();
        else if (what === 11) await takeOver();
        else await crash(`s${String(step)}`);
        await settle();
        seen.waited = Math.max(seen.waited, line.length);
        // A request that was there before and wants one of the same resources is served by now, too.
        const passed = given.flatMap(({ me, before }) =>
          before.filter((one) => line.includes(one) && one.wants.some((each) => me.wants.includes(each))),
        );
        given = [];
        assert.deepEqual(passed, [], `seed ${String(seed)} step ${String(step)}`);
        const leases = world.allocations.leases();
        const ids = leases.flatMap(({ granted }) => granted.flatMap(({ devices }) => devices.map(({ id }) => id)));
        assert.equal(new Set(ids).size, ids.length, `seed ${String(seed)}: a device is in two leases`);
        assert.deepEqual(
          new Map(
            leases.map(({ id, granted }) => [id, granted.flatMap(({ devices }) => devices.map((one) => one.id))]),
          ),
          known,
          `seed ${String(seed)} step ${String(step)}`,
        );
      }
    }
    assert.ok(seen.waited >= 5 && seen.untold > 0, JSON.stringify(seen));
  });

  it('has no device in two leases and loses no lease, in any order of allocations, releases, lists, restarts and crashes', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = seededRandom(seed);
      const pick = (below: number): number => Math.floor(random.next() * below);
      const machine = new FakeMachine();
      const gpu = machine.offer(GPU, 'a', 'b', 'c', 'd');
      const held = new Map<string, readonly string[]>();
      let world = await allocationWorld(machine);
      for (let step = 0; step < 60; step += 1) {
        const what = pick(10);
        if (what < 5) {
          // Requests at once, to which a plugin that prefers its last devices answers at once.
          const count = 1 + pick(2);
          const together = new Promise((resolve) => setImmediate(resolve));
          gpu.preferred = (available) => together.then(() => available.slice(-count));
          const asked = Array.from({ length: 1 + pick(3) }, (_, nth) => {
            const key = `s${String(step)} ${String(nth)}`;
            return world.allocations.allocate(request(GPU, { key, count }), ROOT, forever());
          });
          for (const result of await Promise.all(asked))
            if (result.ok)
              held.set(
                result.value.id,
                result.value.granted.flatMap(({ devices }) => devices.map(({ id }) => id)),
              );
          delete gpu.preferred;
        } else if (what < 7) {
          const [id] = [...held.keys()].slice(pick(Math.max(1, held.size)));
          if (id !== undefined) {
            await world.allocations.release({ id, key: '' }, ROOT);
            held.delete(id);
          }
        } else if (what === 7) {
          gpu.devices = ['a', 'b', 'c', 'd']
            .filter(() => pick(4) > 0)
            .map((id) => ({ id, health: pick(5) > 0 ? 'Healthy' : 'Unhealthy', numaNodes: [] }));
          world.allocations.changed();
        } else {
          // A request is under way when the broker is killed: nobody is told of it.
          const late = world.allocations.allocate(request(GPU, { key: `late${String(step)}` }), ROOT, forever());
          if (what === 9) await Promise.resolve();
          world.crash();
          const result = await late;
          if (result.ok)
            held.set(
              result.value.id,
              result.value.granted.flatMap(({ devices }) => devices.map(({ id }) => id)),
            );
          world = await allocationWorld(machine);
        }
        const leases = world.allocations.leases();
        const ids = leases.flatMap(({ granted }) => granted.flatMap(({ devices }) => devices.map(({ id }) => id)));
        assert.equal(
          new Set(ids).size,
          ids.length,
          `seed ${String(seed)} step ${String(step)}: a device is in two leases`,
        );
        for (const [id, devices] of held) {
          const lease = leases.find((one) => one.id === id);
          const now = lease?.granted.flatMap((granted) => granted.devices.map((device) => device.id));
          assert.deepEqual(now, devices, `seed ${String(seed)} step ${String(step)}: a lease that was told is lost`);
        }
      }
    }
  });
});

describe('a key whose lease was confirmed after a reboot', () => {
  it('is confirmed still when a device that was lost meanwhile comes back', async () => {
    const machine = new FakeMachine();
    machine.offer(GPU, 'g0');
    const before = await allocationWorld(machine);
    assert.ok((await before.allocations.allocate(request(GPU, { key: 'k' }), ROOT, forever())).ok);
    before.crash();
    machine.bootId = 'boot-2';
    const { allocations } = await allocationWorld(machine);
    const health = (word: string): string | undefined => {
      machine.offer(GPU, 'g0').devices = [{ id: 'g0', health: word, numaNodes: [] }];
      allocations.changed();
      return allocations.leases()[0]?.state;
    };
    assert.equal(health('Unhealthy'), 'impaired');
    assert.ok((await allocations.renew({ id: '', key: 'k' }, ROOT)).ok);
    assert.equal(health('Healthy'), 'active');
    assert.deepEqual(
      [...machine.disk.values()].map(({ bootId }) => bootId),
      ['boot-2'],
    );
  });
});

describe('a lease that was given', () => {
  it('is listed, and those that list leases know of it, before its owner is told', async () => {
    let written = (): void => undefined;
    const file = new Promise<undefined>((resolve) => (written = () => resolve(undefined)));
    const { allocations } = await allocationWorld(plain(), { cdi: { ...noCdi, write: () => file } });
    const states: (string | undefined)[] = [];
    allocations.onChange(() => void states.push(allocations.leases()[0]?.state));
    let isTold = false;
    const given = allocations.allocate(request(GPU, { key: 'k' }), ROOT, forever()).then(() => (isTold = true));
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isTold, states.at(-1), allocations.leases().length], [false, 'active', 1]);
    written();
    await given;
  });
});
