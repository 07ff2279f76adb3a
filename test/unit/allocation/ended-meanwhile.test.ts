import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Consumers } from '../../../src/allocation/consumers.js';
import { noCdi } from '../../../src/allocation/ports.js';
import type { Lease, PluginAnswer } from '../../../src/model/lease.js';
import type { Consumer } from '../../../src/model/settings.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';

const GPU = 'v/gpu';
const ROOT = { uid: 0, process: undefined };
const never = new AbortController().signal;

describe('a request that comes to nothing', () => {
  it('lets its resource go to pods where they wait for the last device that owners have', async () => {
    const machine = new FakeMachine();
    const gpu = machine.offer(GPU, 'g0');
    let fail: (failure: Error) => void = () => undefined;
    gpu.allocate = () => new Promise<PluginAnswer>((_, reject) => (fail = reject));
    let wanted: Consumer = 'local';
    const { allocations } = await allocationWorld(machine);
    const consumers = new Consumers({
      rules: { consumerOf: () => wanted },
      offers: { strangerOf: () => undefined },
      ledger: { hasSome: (resource) => allocations.allocatedOf(resource).size > 0 },
      pods: { heldOf: () => 0, unsure: () => undefined },
      resources: { names: () => [GPU] },
    });
    const moved: string[] = [];
    consumers.listeners.follow({ consumerMoved: (resource) => void moved.push(consumers.of(resource)) });
    allocations.onChange(consumers.leaseChanged);
    consumers.look([GPU]);
    const asked = allocations.allocate(request(GPU, { key: 'k' }), ROOT, never);
    await machine.clock.settle();
    wanted = 'kubelet';
    consumers.look([GPU]);
    assert.deepEqual(moved, ['local']);
    fail(new Error('not now'));
    assert.equal((await asked).ok, false);
    assert.deepEqual(moved, ['local', 'kubelet']);
  });
});

describe('a lease that ends while its CDI file is written', () => {
  it('leaves no file behind and is not told as given', async () => {
    const machine = new FakeMachine();
    machine.offer(GPU, 'g0');
    const files = new Set<string>();
    let write = (): void => undefined;
    const cdi = {
      ...noCdi,
      write: ({ id }: Lease) =>
        new Promise<{ name: string }>((resolve) => {
          write = () => {
            files.add(id);
            resolve({ name: `a/b=${id}` });
          };
        }),
      remove: (id: string) => (files.delete(id), Promise.resolve()),
    };
    const { allocations, events } = await allocationWorld(machine, { cdi });
    const asked = allocations.allocate(request(GPU, { key: 'k' }), ROOT, never);
    await machine.clock.settle();
    const [lease] = allocations.leases();
    assert.ok(lease !== undefined);
    await allocations.release({ id: lease.id, key: '' }, ROOT);
    write();
    const result = await asked;
    assert.equal(result.ok ? 'given' : result.refusal.code, 'LEASE_UNKNOWN');
    assert.deepEqual([events.map(({ type }) => type), [...files]], [['released'], []]);
    assert.deepEqual([allocations.leases(), machine.disk.size], [[], 0]);
  });
});
