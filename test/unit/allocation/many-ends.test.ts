import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { noCdi } from '../../../src/allocation/ports.js';
import type { LeaseRecord, LedgerStore } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const MANY = 200;

/** A disk that takes all changes of a turn with one write. */
function sharedDisk(disk: Map<string, LeaseRecord>) {
  const seen = { writes: 0 };
  let write: Promise<boolean> | undefined;
  const save = (): Promise<boolean> =>
    (write ??= nextTurn().then(() => {
      write = undefined;
      seen.writes += 1;
      return true;
    }));
  const store: LedgerStore = {
    mayWrite: true,
    put: (record) => (disk.set(record.id, record), save()),
    remove: (id) => (disk.delete(id), save()),
    expect: () => undefined,
    setLedger: save,
    isKept: save,
  };
  return { store, seen };
}

/** A machine with many leases, each of the process that asked. */
async function manyLeases() {
  const machine = new FakeMachine();
  machine.offer(GPU, ...Array.from({ length: MANY }, (_, nth) => `g${String(nth)}`));
  machine.processes.set(7, 'then');
  const { allocations, crash } = await allocationWorld(machine);
  const caller = { uid: 0, process: { pid: 7, startTime: 'then' } };
  const ask = () => allocations.allocate(request(GPU), caller, new AbortController().signal);
  await Promise.all(Array.from({ length: MANY }, ask));
  crash();
  assert.equal(machine.disk.size, MANY);
  return machine;
}

/** CDI files; how many are being removed at once, at most. */
function slowFiles() {
  const seen = { removed: 0, now: 0, most: 0 };
  const cdi = {
    ...noCdi,
    remove: async () => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await nextTurn();
      seen.now -= 1;
      seen.removed += 1;
    },
  };
  return { cdi, seen };
}

describe('many leases that end at once', () => {
  it('at a start after a reboot share a write, and their files go one after the other', async () => {
    const machine = await manyLeases();
    machine.bootId = 'boot-2';
    const { store, seen } = sharedDisk(machine.disk);
    const files = slowFiles();
    const { allocations } = await allocationWorld(machine, { store, cdi: files.cdi });
    assert.deepEqual([allocations.leases().length, machine.disk.size], [0, 0]);
    assert.deepEqual([seen.writes, files.seen.removed, files.seen.most], [1, MANY, 1]);
  });

  it('while the disk takes nothing lose their files one after the other when it takes something again', async () => {
    const machine = await manyLeases();
    machine.bootId = 'boot-2';
    machine.isWritable = false;
    const files = slowFiles();
    const { allocations } = await allocationWorld(machine, { cdi: files.cdi });
    assert.deepEqual([allocations.leases().length, files.seen.removed], [0, 0]);
    allocations.keeper.endings.caughtUp();
    for (let turn = 0; turn < MANY + 1; turn += 1) await nextTurn();
    assert.deepEqual([files.seen.removed, files.seen.most], [MANY, 1]);
  });

  it('with a reset share a write, and so do their files', async () => {
    const machine = await manyLeases();
    const { store, seen } = sharedDisk(machine.disk);
    const files = slowFiles();
    const { allocations } = await allocationWorld(machine, { store, cdi: files.cdi }, 'unknown');
    assert.equal(allocations.leases().length, MANY);
    assert.equal(await allocations.keeper.reset(), 'unknown');
    assert.deepEqual([allocations.leases().length, machine.disk.size], [0, 0]);
    // One more says that nothing is unknown any more.
    assert.deepEqual([seen.writes, files.seen.removed, files.seen.most], [2, MANY, 1]);
  });
});

describe('a lease of more resources than Node takes for no leak of listeners', () => {
  it('is given without a warning', async (t) => {
    const warned: string[] = [];
    const onWarning = ({ name }: Error): void => void warned.push(name);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    const machine = new FakeMachine();
    const resources = Array.from({ length: 16 }, (_, nth) => `v/r${String(nth)}`);
    for (const resource of resources) {
      machine.offer(resource, 'a').allocate = (_ids, _counted, signal) => {
        signal.addEventListener('abort', () => undefined); // as a call of a plugin does
        return Promise.resolve(NO_ANSWER);
      };
    }
    const { allocations } = await allocationWorld(machine);
    const wants = resources.map((resource) => ({ resource, count: 1, ids: [], numa: '' }));
    const given = allocations.allocate(
      { ...request('v/r0', { key: 'k' }), wants },
      { uid: 0, process: undefined },
      new AbortController().signal,
    );
    await machine.clock.advance(1000);
    assert.ok((await given).ok);
    await new Promise((resolve) => setImmediate(resolve)); // warnings are told in the next turn
    assert.deepEqual(warned, []);
  });
});
