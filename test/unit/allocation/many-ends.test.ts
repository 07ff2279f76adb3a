import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { noCdi } from '../../../src/allocation/ports.js';
import type { LeaseRecord, LedgerStore } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';

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
