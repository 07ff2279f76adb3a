import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import type { AllocationPorts } from '../../../src/allocation/ports.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import type { CgroupLife } from '../../../src/model/lease.js';
import { leaseEnvs } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { checkpointRig } from '../../support/checkpoint-rig.js';
import { FakeDisk, type Fault } from '../../support/fake-disk.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const NIC = 'v/nic';
const ROOT = { uid: 0, process: undefined };
const forever = (): AbortSignal => new AbortController().signal;

function machineWith(...ids: string[]): FakeMachine {
  const machine = new FakeMachine();
  machine.offer(GPU, ...ids);
  return machine;
}

/** The outcome of a request: `given`, or the code and words of the refusal. */
async function outcome(
  allocations: Allocations,
  raw: RawRequest,
  uid = 0,
  signal = forever(),
): Promise<{ code: string; message: string }> {
  const result = await allocations.allocate(raw, { uid, process: undefined }, signal);
  return result.ok ? { code: 'given', message: result.value.id } : result.refusal;
}

const both = (key: string): RawRequest => ({
  ...request(GPU, { key }),
  wants: [GPU, NIC].map((resource) => ({ resource, count: 1, ids: [], numa: '' })),
});

describe('answers of several plugins', () => {
  async function conflicting(joinEnv: readonly string[]): Promise<{ code: string; message: string; envs?: string }> {
    const machine = machineWith('g0');
    for (const [name, id] of [
      [GPU, 'g0'],
      [NIC, 'n0'],
    ] as const) {
      machine.offer(name, id).allocate = ([given = '']) =>
        Promise.resolve({ ...NO_ANSWER, envs: new Map([['VISIBLE', given]]) });
    }
    const settings = { enabled: true, group: '', checkMs: 10_000, joinEnv, maxLeases: 1024 };
    const { allocations } = await allocationWorld(machine, { settings });
    const result = await outcome(allocations, both('k'));
    const [lease] = allocations.leases();
    return lease === undefined ? result : { ...result, envs: lease.answer.envs.get('VISIBLE') ?? '' };
  }

  it('that contradict each other are refused as RESPONSE_CONFLICT, and nothing stays marked', async () => {
    const { code, message, envs } = await conflicting([]);
    assert.equal(code, 'RESPONSE_CONFLICT');
    assert.match(message, /VISIBLE/);
    assert.equal(envs, undefined);
  });

  it('are joined by comma for the variables of allocator.joinEnv', async () => {
    assert.deepEqual((await conflicting(['VISIBLE'])).envs, 'g0,n0');
  });
});

describe('answers of plugins', () => {
  it('that take all the room of the checkpoint are refused as LEASES_FULL, and have room again after a release', async () => {
    const ids = Array.from({ length: 200 }, (_, nth) => `g${String(nth)}`);
    const machine = new FakeMachine();
    // Control characters take six times their bytes on the disk.
    const envs = new Map([['LARGE', '\u0001'.repeat(60 * 1024)]]);
    machine.offer(GPU, ...ids).allocate = () => Promise.resolve({ ...NO_ANSWER, envs: new Map(envs) });
    const { allocations } = await allocationWorld(machine, {});
    let last = await outcome(allocations, request(GPU, { key: 'k0' }));
    const first = last.message;
    for (let nth = 1; last.code === 'given'; nth += 1) {
      last = await outcome(allocations, request(GPU, { key: `k${String(nth)}` }));
    }
    assert.equal(last.code, 'LEASES_FULL');
    assert.equal(allocations.leases().length, Math.floor((32 * 1024) / 361));
    assert.ok((await allocations.release({ id: first, key: '' }, ROOT)).ok);
    assert.equal((await outcome(allocations, request(GPU, { key: 'again' }))).code, 'given');
  });
});

describe('waiting requests', () => {
  it('are 256 at most; the next one is told QUEUE_FULL, and the broker that stops sends all away', async () => {
    const { allocations } = await allocationWorld(machineWith());
    const waiting = Array.from({ length: 256 }, (_, index) =>
      outcome(allocations, request(GPU, { key: `w${String(index)}`, waitMs: 60_000 })),
    );
    assert.equal((await outcome(allocations, request(GPU, { key: 'more', waitMs: 60_000 }))).code, 'QUEUE_FULL');
    assert.equal((await outcome(allocations, request(GPU, { key: 'now' }))).code, 'NO_DEVICES');
    allocations.stop();
    const codes = new Set((await Promise.all(waiting)).map(({ code }) => code));
    assert.deepEqual([...codes], ['ALLOCATOR_STOPPING']);
    assert.equal((await outcome(allocations, request(GPU, { key: 'late' }))).code, 'ALLOCATOR_STOPPING');
    allocations.close();
  });

  it('for two resources stand in both lines, and let no request pass that wants one of them', async () => {
    const machine = machineWith('g0');
    machine.offer(NIC, 'n0');
    const { allocations } = await allocationWorld(machine);
    const order: string[] = [];
    const ask = async (name: string, raw: RawRequest): Promise<void> => {
      if ((await outcome(allocations, { ...raw, waitMs: 60_000 })).code === 'given') order.push(name);
    };
    await ask('first', request(GPU, { key: 'first' }));
    const all = [
      ask('both', both('both')),
      ask('nic', request(NIC, { key: 'nic' })),
      ask('gpu', request(GPU, { key: 'gpu' })),
    ];
    await machine.clock.settle();
    assert.deepEqual(order, ['first'], 'the NIC is free, but somebody was there before');
    await allocations.release({ id: '', key: 'first' }, ROOT);
    await machine.clock.settle();
    assert.deepEqual(order, ['first', 'both']);
    await allocations.release({ id: '', key: 'both' }, ROOT);
    await Promise.all(all);
    assert.deepEqual(order, ['first', 'both', 'nic', 'gpu']);
  });

  it('leave the line when their connection is lost, and those behind them move up', async () => {
    const machine = machineWith('g0', 'g1');
    const { allocations } = await allocationWorld(machine);
    await outcome(allocations, request(GPU, { key: 'one' }));
    const gone = new AbortController();
    const large = outcome(allocations, request(GPU, { key: 'large', count: 2, waitMs: 60_000 }), 0, gone.signal);
    const small = outcome(allocations, request(GPU, { key: 'small', waitMs: 60_000 }));
    gone.abort();
    await assert.rejects(large, { name: 'AbortError' });
    assert.equal((await small).code, 'given');
  });
});

describe('the owner of a device in a refusal', () => {
  it('is not told the owner of a device, unless it is root or that very uid', async () => {
    const { allocations } = await allocationWorld(machineWith('g0'));
    const { message: id } = await outcome(allocations, request(GPU, { key: 'secret', ids: ['g0'] }), 7);
    const taken = async (uid: number): Promise<string> => {
      const { code, message } = await outcome(allocations, request(GPU, { key: 'x', ids: ['g0'] }), uid);
      assert.equal(code, 'DEVICE_TAKEN');
      return message;
    };
    assert.equal(await taken(8), 'g0 of v/gpu is in another lease');
    for (const uid of [0, 7]) assert.match(await taken(uid), new RegExp(`${id} of key/secret \\(uid 7\\)`));
    assert.deepEqual(allocations.list({ uid: 8, process: undefined }, ''), []);
  });

  it('finds no lease that there is not, and none of another uid', async () => {
    const { allocations } = await allocationWorld(machineWith('g0'));
    const { message: id } = await outcome(allocations, request(GPU, { key: 'k' }), 7);
    const stranger = { uid: 8, process: undefined };
    for (const [ref, code] of [
      [{ id: 'x', key: '' }, 'LEASE_UNKNOWN'],
      [{ id: '', key: 'k' }, 'LEASE_UNKNOWN'],
      [{ id: '', key: 'k'.repeat(257) }, 'WANT_INVALID'],
      [{ id: '\n', key: '' }, 'WANT_INVALID'],
      [{ id, key: '' }, 'NOT_OWNER'],
    ] as const) {
      const renewed = await allocations.renew(ref, stranger);
      const attached = allocations.attach(ref, stranger, () => undefined, forever());
      assert.deepEqual(
        [renewed, attached].map((result) => (result.ok ? 'ok' : result.refusal.code)),
        [code, code],
      );
    }
    const released = await allocations.release({ id: 'x', key: '' }, stranger);
    assert.deepEqual(released, { ok: true, value: { wasHeld: false, warnings: [] } });
  });
});

describe('owners', () => {
  const bound = (bind: string): RawRequest => ({
    ...request(GPU),
    owner: { bind, namespace: '', name: '', part: '' },
  });

  it('that are a process end with it, also when another process has its pid', async () => {
    const machine = machineWith('g0');
    machine.processes.set(42, '100');
    const { allocations, events } = await allocationWorld(machine);
    const caller = { uid: 7, process: { pid: 42, startTime: '100' } };
    assert.ok((await allocations.allocate(bound('process'), caller, forever())).ok);
    machine.processes.set(42, '200');
    await machine.clock.advance(10_000);
    assert.deepEqual(allocations.leases(), []);
    assert.equal(events.at(-1)?.reason, 'owner-ended');
  });

  it('that are a process with a reused pid have no lease after a restart', async () => {
    const machine = machineWith('g0');
    machine.processes.set(42, '100');
    const { allocations, crash } = await allocationWorld(machine);
    await allocations.allocate(bound('process'), { uid: 7, process: { pid: 42, startTime: '100' } }, forever());
    crash();
    machine.processes.set(42, '200');
    assert.deepEqual((await allocationWorld(machine)).allocations.leases(), []);
  });

  it('that are a control group end when it is empty, and not with the process that asked', async () => {
    const machine = machineWith('g0');
    const group: CgroupLife = { path: '/job.scope', inode: '5' };
    let isPopulated = true;
    const owners: AllocationPorts['owners'] = {
      isAlive: ({ pid, startTime }) => machine.processes.get(pid) === startTime,
      cgroupOf: () => group,
      isPopulated: () => isPopulated,
    };
    const { allocations } = await allocationWorld(machine, { owners });
    machine.processes.set(42, '100');
    const given = await allocations.allocate(
      bound('cgroup'),
      { uid: 7, process: { pid: 42, startTime: '100' } },
      forever(),
    );
    assert.ok(given.ok);
    machine.processes.delete(42);
    await machine.clock.advance(20_000);
    assert.equal(allocations.leases().length, 1);
    isPopulated = false;
    await machine.clock.advance(10_000);
    assert.deepEqual(allocations.leases(), []);
  });

  it('that are a control group have no lease after a reboot, and none after a restart when it was emptied', async () => {
    for (const change of ['boot', 'emptied'] as const) {
      const machine = machineWith('g0');
      const group: CgroupLife = { path: '/job.scope', inode: '5' };
      const owners = (isPopulated: boolean): AllocationPorts['owners'] => ({
        isAlive: () => true,
        cgroupOf: () => group,
        isPopulated: () => isPopulated,
      });
      const { allocations, crash } = await allocationWorld(machine, { owners: owners(true) });
      const caller = { uid: 7, process: { pid: 42, startTime: '1' } };
      assert.ok((await allocations.allocate(bound('cgroup'), caller, forever())).ok);
      crash();
      if (change === 'boot') machine.bootId = 'boot-2';
      const next = await allocationWorld(machine, { owners: owners(change === 'boot') });
      assert.deepEqual(next.allocations.leases(), [], change);
      assert.equal(next.events.at(-1)?.reason, change === 'boot' ? 'boot-over' : 'owner-ended');
    }
  });
});

describe('a time to live', () => {
  it('is measured by no clock that anybody sets, begins anew with each renewal, and goes on over a restart', async () => {
    const machine = machineWith('g0');
    const world = await allocationWorld(machine);
    assert.equal((await outcome(world.allocations, request(GPU, { key: 'k', ttlMs: 60_000 }))).code, 'given');
    machine.clock.stepWall(7_200_000);
    await machine.clock.advance(40_000);
    assert.equal(world.allocations.leases().length, 1, 'the wall clock went two hours ahead');
    assert.ok((await world.allocations.renew({ id: '', key: 'k' }, ROOT)).ok);
    machine.clock.stepWall(-14_400_000);
    await machine.clock.advance(40_000);
    assert.equal(world.allocations.leases().length, 1, 'it was renewed 40 s ago');
    world.crash();
    const next = await allocationWorld(machine);
    assert.equal(next.allocations.leases().length, 1);
    await machine.clock.advance(20_001);
    assert.deepEqual(next.allocations.leases(), []);
    assert.equal(next.events.at(-1)?.reason, 'ttl-over');
  });

  it('that is over while the broker is down ends the lease at its start', async () => {
    const machine = machineWith('g0');
    const { allocations, crash } = await allocationWorld(machine);
    await outcome(allocations, request(GPU, { key: 'k', ttlMs: 5000 }));
    crash();
    await machine.clock.advance(6000);
    assert.deepEqual((await allocationWorld(machine)).allocations.leases(), []);
  });
});

describe('leases and their plugins', () => {
  const states = (allocations: Allocations): string[] =>
    allocations.leases().map(({ state, reason }) => `${state} ${reason ?? ''}`.trim());

  it('stay through a quarantine, a list flood and a plugin that comes back without the device', async () => {
    const machine = machineWith('g0', 'g1');
    const gpu = machine.resources.get(GPU);
    assert.ok(gpu !== undefined);
    const { allocations } = await allocationWorld(machine);
    await outcome(allocations, request(GPU, { key: 'k', ids: ['g0'] }));
    allocations.keeper.settled();
    gpu.isReady = false; // quarantined, or held
    allocations.changed();
    assert.deepEqual(states(allocations), ['active'], 'nothing is known to be wrong with the device');
    assert.equal((await outcome(allocations, request(GPU, { key: 'l' }))).code, 'PLUGIN_NOT_READY');
    gpu.isReady = true;
    for (let list = 0; list < 1000; list += 1) {
      gpu.devices = [{ id: list % 2 === 0 ? 'g1' : 'g0', health: 'Healthy', numaNodes: [] }];
      allocations.changed();
      const taken = allocations.leases().flatMap(({ granted }) => granted.flatMap(({ devices }) => devices));
      assert.deepEqual(
        taken.map(({ id }) => id),
        ['g0'],
      );
    }
    gpu.devices = [{ id: 'g1', health: 'Healthy', numaNodes: [] }];
    allocations.changed();
    assert.deepEqual(states(allocations), ['impaired device-missing']);
    assert.equal((await outcome(allocations, request(GPU, { key: 'm', ids: ['g0'] }))).code, 'DEVICE_UNKNOWN');
    await allocations.release({ id: '', key: 'k' }, ROOT);
    gpu.devices = [{ id: 'g0', health: 'Healthy', numaNodes: [] }];
    allocations.changed();
    assert.equal((await outcome(allocations, request(GPU, { key: 'n', ids: ['g0'] }))).code, 'given');
  });

  it('are impaired while nobody offers the resource, and whole again when somebody does', async () => {
    const machine = machineWith('g0');
    const gpu = machine.resources.get(GPU);
    assert.ok(gpu !== undefined);
    const { allocations } = await allocationWorld(machine);
    allocations.keeper.settled();
    await outcome(allocations, request(GPU, { key: 'k' }));
    machine.resources.delete(GPU);
    allocations.changed();
    assert.deepEqual(states(allocations), ['impaired plugin-gone']);
    machine.resources.set(GPU, gpu);
    allocations.changed();
    assert.deepEqual(states(allocations), ['active']);
  });

  it('are not made when the plugin vanishes in the middle, twice or for good, and its devices are free again', async () => {
    const machine = machineWith('g0');
    const gpu = machine.resources.get(GPU);
    assert.ok(gpu !== undefined);
    const { allocations } = await allocationWorld(machine);
    gpu.allocate = () => {
      gpu.isReady = false;
      return Promise.reject(Object.assign(new Error('connection lost'), { status: 14 }));
    };
    const codes = [];
    for (let time = 0; time < 2; time += 1) {
      codes.push((await outcome(allocations, request(GPU, { key: 'k' }))).code);
      gpu.isReady = true;
    }
    assert.ok(codes.every((code) => code === 'PLUGIN_FAILED' || code === 'PLUGIN_NOT_READY'));
    gpu.allocate = () => Promise.resolve(NO_ANSWER);
    assert.equal((await outcome(allocations, request(GPU, { key: 'k' }))).code, 'given');
  });

  it('avoid the devices of a call that was not answered for ten seconds', async () => {
    const machine = machineWith('g0', 'g1');
    const gpu = machine.resources.get(GPU);
    assert.ok(gpu !== undefined);
    const { allocations } = await allocationWorld(machine);
    gpu.allocate = () => Promise.reject(Object.assign(new Error('in time'), { status: 4 }));
    assert.equal((await outcome(allocations, request(GPU, { key: 'k' }))).code, 'PLUGIN_FAILED');
    gpu.allocate = () => Promise.resolve(NO_ANSWER);
    const next = await allocations.allocate(request(GPU, { key: 'l' }), ROOT, forever());
    assert.ok(next.ok);
    assert.equal(next.value.granted[0]?.devices[0]?.id, 'g1');
    assert.match((await outcome(allocations, request(GPU, { key: 'm' }))).message, /has just not answered/);
    await machine.clock.advance(10_000);
    assert.equal((await outcome(allocations, request(GPU, { key: 'm' }))).code, 'given');
  });
});

describe('ids of devices', () => {
  it('are any text: slashes, separators, emoji, 256 bytes; owners told in variables can be read back', async () => {
    const odd = ['pci/0000:00/1', 'a;b=c%d', '🦊', 'x'.repeat(256), '__proto__', "'"];
    const machine = machineWith(...odd);
    const { allocations } = await allocationWorld(machine);
    const result = await allocations.allocate(request(GPU, { key: 'k', ids: odd }), ROOT, forever());
    assert.ok(result.ok);
    assert.deepEqual(
      result.value.granted[0]?.devices.map(({ id }) => id),
      odd,
    );
    const told = leaseEnvs(result.value).get('PLUGIN_BROKER_DEVICES') ?? '';
    const read = told.split(';').map((pair) => {
      const text = pair.slice(GPU.length + 1);
      return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    });
    assert.deepEqual(read, odd);
    const long = await outcome(allocations, request(GPU, { key: 'l', ids: ['x'.repeat(257)] }));
    assert.equal(long.code, 'WANT_INVALID');
  });
});

describe('the disk under the ledger', () => {
  /** An allocator whose store is the real one, on a disk whose nth operation of the allocation fails. */
  async function lifeOn(disk: FakeDisk, machine: FakeMachine) {
    const { store } = checkpointRig(disk, '/state', machine.clock);
    await store.open();
    machine.disk.clear();
    for (const record of store.contents.leases.values()) machine.disk.set(record.id, record);
    const world = await allocationWorld(machine, {
      store: {
        get mayWrite() {
          return store.mayWrite;
        },
        expect: () => store.expect(),
        isKept: () => store.isKept(),
        put: async (record) => (await store.update((draft) => draft.putLease(record))) === 'durable',
        remove: async (id) => (await store.update((draft) => draft.removeLease(id))) === 'durable',
        setLedger: () => Promise.resolve(true),
      },
    });
    return { ...world, store };
  }

  /** Drives time until the promise settles. */
  async function settled<T>(machine: FakeMachine, promise: Promise<T>): Promise<T> {
    const over = new AbortController();
    const watched = promise.finally(() => over.abort());
    for (let step = 0; step < 200 && !over.signal.aborted; step += 1) await machine.clock.advance(100);
    return watched;
  }

  it('from which somebody removed what was recorded has it again before the same key is answered again', async () => {
    const machine = machineWith('g0', 'g1');
    const disk = new FakeDisk();
    const { allocations, store } = await lifeOn(disk, machine);
    assert.equal((await settled(machine, outcome(allocations, request(GPU, { key: 'k' })))).code, 'given');
    disk.removeFolder('/state');
    assert.equal((await settled(machine, outcome(allocations, request(GPU, { key: 'k' })))).code, 'given');
    store.close();
    const next = await lifeOn(disk, machine);
    assert.equal(next.allocations.leases().length, 1);
    next.store.close();
  });

  for (const fault of ['ENOSPC', 'EROFS', 'hang'] as const satisfies readonly Fault[])
    it(`that fails with ${fault} at any step costs the request and never the truth: told leases are there after a restart`, async () => {
      let isRefused = 0;
      for (let at = 1; at <= 14; at += 1) {
        const machine = machineWith('g0', 'g1');
        const disk = new FakeDisk();
        const { allocations, store } = await lifeOn(disk, machine);
        assert.equal((await settled(machine, outcome(allocations, request(GPU, { key: 'before' })))).code, 'given');
        disk.failAt(disk.operations.length + at, fault);
        const { code } = await settled(machine, outcome(allocations, request(GPU, { key: 'k' })));
        assert.ok(code === 'given' || code === 'LEDGER_NOT_WRITABLE', `${fault} at ${String(at)}: ${code}`);
        if (code !== 'given') isRefused += 1;
        assert.equal(allocations.leases().length, code === 'given' ? 2 : 1);
        disk.release();
        // A release is never refused, whatever the disk does, and reaches it in the end.
        const released = await settled(machine, allocations.release({ id: '', key: 'before' }, ROOT));
        assert.ok(released.ok && released.value.wasHeld);
        disk.release();
        await machine.clock.advance(60_000);
        store.close();
        const next = await lifeOn(disk, machine);
        assert.deepEqual(
          next.allocations.leases().map(({ key }) => key),
          code === 'given' ? ['k'] : [],
          `${fault} at ${String(at)}`,
        );
        next.store.close();
      }
      assert.ok(isRefused > 0, 'no step of an allocation failed');
    });

  it('that is full stays full: nothing is given, everything is released, and all of it is written when there is room', async () => {
    const machine = machineWith('g0');
    const disk = new FakeDisk();
    const { allocations, store } = await lifeOn(disk, machine);
    await settled(machine, outcome(allocations, request(GPU, { key: 'before' })));
    disk.failAll('ENOSPC');
    const released = await settled(machine, allocations.release({ id: '', key: 'before' }, ROOT));
    assert.match(released.ok ? released.value.warnings.join() : '', /^that could not be written to the disk in time: /);
    assert.equal(allocations.allocatedOf(GPU).size, 0);
    const { code } = await settled(machine, outcome(allocations, request(GPU, { key: 'k' })));
    assert.equal(code, 'LEDGER_NOT_WRITABLE');
    disk.failAll(undefined);
    await machine.clock.advance(60_000);
    assert.equal(
      (await settled(machine, outcome(allocations, request(GPU, { key: 'k', ttlMs: 600_000 })))).code,
      'given',
    );
    disk.failAll('ENOSPC');
    const renewed = await settled(machine, allocations.renew({ id: '', key: 'k' }, ROOT));
    assert.equal(renewed.ok ? 'renewed' : renewed.refusal.code, 'LEDGER_NOT_WRITABLE', 'a restart would undo it');
    assert.equal(allocations.leases().length, 1);
    disk.failAll(undefined);
    await machine.clock.advance(60_000);
    assert.ok((await settled(machine, allocations.renew({ id: '', key: 'k' }, ROOT))).ok);
    store.close();
    const next = await lifeOn(disk, machine);
    assert.deepEqual(
      next.allocations.leases().map(({ key }) => key),
      ['k'],
    );
    next.store.close();
  });
});
