import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noCdi, type AllocationPorts } from '../../../src/allocation/ports.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const forever = (): AbortSignal => new AbortController().signal;
const bound = (bind: string): RawRequest =>
  request(GPU, { count: 1, owner: { bind, namespace: '', name: '', part: '' } });

function machineWith(...ids: string[]): FakeMachine {
  const machine = new FakeMachine();
  machine.offer(GPU, ...ids);
  return machine;
}

describe('owners', () => {
  it('that cannot be looked at stop neither a broker nor its start, and keep what they have until they can', async () => {
    const failing = (): never => {
      throw Object.assign(new Error('no look'), { code: 'ENAMETOOLONG' });
    };
    let look: () => boolean = () => true;
    const owners: AllocationPorts['owners'] = {
      isAlive: () => look(),
      cgroupOf: () => ({ path: '/job.scope', inode: '5' }),
      isPopulated: () => look(),
    };
    for (const bind of ['process', 'cgroup'] as const) {
      const machine = machineWith('g0');
      look = () => true;
      const { allocations, crash } = await allocationWorld(machine, { owners });
      const caller = { uid: 7, process: { pid: 42, startTime: '1' } };
      assert.ok((await allocations.allocate(bound(bind), caller, forever())).ok);
      look = failing;
      allocations.keeper.connectionEnded({ uid: 7, pid: 42 });
      await machine.clock.advance(20_000);
      assert.equal(allocations.leases().length, 1);
      crash();
      const next = (await allocationWorld(machine, { owners })).allocations;
      assert.equal(next.leases().length, 1, bind);
      look = () => false;
      await machine.clock.advance(10_000);
      assert.deepEqual(next.leases(), []);
    }
  });

  it('are looked at while the look at a device node of somebody hangs', async () => {
    const machine = machineWith('g0', 'g1');
    const answer = { ...NO_ANSWER, devices: [{ containerPath: '/dev/x', hostPath: '/dev/x', permissions: 'rw' }] };
    machine.offer(GPU, 'g0', 'g1').allocate = () => Promise.resolve(answer);
    let isThere: () => Promise<boolean> = () => Promise.resolve(false);
    const write = () => Promise.resolve({ problem: '/dev/x is not there', reason: 'device-node-missing' } as const);
    const cdi = { ...noCdi, write };
    const { allocations } = await allocationWorld(machine, { cdi, isThere: () => isThere() });
    for (const pid of [41, 42]) {
      machine.processes.set(pid, '1');
      const caller = { uid: 7, process: { pid, startTime: '1' } };
      assert.ok((await allocations.allocate(bound('process'), caller, forever())).ok);
    }
    const reasons = (): unknown[] => allocations.leases().map(({ reason }) => reason);
    assert.deepEqual(reasons(), ['device-node-missing', 'device-node-missing']);
    let answers = (_: boolean): void => undefined;
    isThere = () => new Promise((resolve) => (answers = resolve));
    await machine.clock.advance(12_000);
    machine.processes.delete(42);
    await machine.clock.advance(10_000);
    assert.deepEqual(reasons(), ['device-node-missing'], 'the owner of the other one has ended');
    answers(true);
    isThere = () => Promise.resolve(true);
    await machine.clock.advance(10_000);
    assert.deepEqual(reasons(), [undefined]);
  });
});
