import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noCdi, type AllocationPorts, type CdiFiles } from '../../../src/allocation/ports.js';
import type { RawRequest } from '../../../src/allocation/request.js';
import type { CdiResult } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const GPU = 'v/gpu';
const WITH_NODE = {
  ...NO_ANSWER,
  devices: [{ containerPath: '/dev/x', hostPath: '/dev/x', permissions: 'rw' }],
};
const forever = (): AbortSignal => new AbortController().signal;
const bound = (bind: string): RawRequest =>
  request(GPU, { count: 1, key: bind === 'key' ? 'k' : '', owner: { bind, namespace: '', name: '', part: '' } });

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
      allocations.keeper.looks.connectionEnded({ uid: 7, pid: 42 });
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

  it('are never the control group of another process that has the pid of the caller, which has ended', async () => {
    const machine = machineWith('g0');
    const owners: AllocationPorts['owners'] = {
      isAlive: ({ pid, startTime }) => machine.processes.get(pid) === startTime,
      cgroupOf: () => ({ path: '/system.slice/of-another.service', inode: '5' }),
      isPopulated: () => true,
    };
    const { allocations } = await allocationWorld(machine, { owners });
    machine.processes.set(42, '200');
    const caller = { uid: 7, process: { pid: 42, startTime: '100' } };
    const given = await allocations.allocate(bound('cgroup'), caller, forever());
    assert.equal(given.ok ? given.value.owner.name : given.refusal.code, 'OWNER_NOT_SEEN');
    const ofKey = await allocations.allocate(bound('key'), caller, forever());
    assert.equal(ofKey.ok && ofKey.value.owner.namespace, 'process');
  });

  it('are looked at while the look at a device node of somebody hangs', async () => {
    const machine = machineWith('g0', 'g1');
    machine.offer(GPU, 'g0', 'g1').allocate = () => Promise.resolve(WITH_NODE);
    const missing: CdiResult = { problem: '/dev/x is not there', reason: 'device-node-missing' };
    let write: () => Promise<CdiResult> = () => Promise.resolve(missing);
    const cdi = { ...noCdi, write: () => write() };
    const { allocations } = await allocationWorld(machine, { cdi });
    for (const pid of [41, 42]) {
      machine.processes.set(pid, '1');
      const caller = { uid: 7, process: { pid, startTime: '1' } };
      assert.ok((await allocations.allocate(bound('process'), caller, forever())).ok);
    }
    const reasons = (): unknown[] => allocations.leases().map(({ reason }) => reason);
    assert.deepEqual(reasons(), ['device-node-missing', 'device-node-missing']);
    const unseen: CdiResult = { problem: '/dev/x cannot be looked at', reason: 'unseen' };
    write = () => new Promise((resolve) => void machine.clock.alarm(2000, () => resolve(unseen)));
    await machine.clock.advance(12_000);
    machine.processes.delete(42);
    await machine.clock.advance(10_000);
    assert.deepEqual(reasons(), ['device-node-missing'], 'the owner of the other one has ended');
    write = () => Promise.resolve({ name: 'pb/lease=1' });
    await machine.clock.advance(10_000);
    assert.deepEqual(reasons(), [undefined]);
    assert.deepEqual(
      allocations.leases().map(({ id }) => allocations.cdiOf(id)),
      [{ name: 'pb/lease=1' }],
    );
  });

  it('have leases whose device node comes late, before a restart and after it, with their CDI name then', async () => {
    const machine = machineWith('g0');
    machine.offer(GPU, 'g0').allocate = () => Promise.resolve(WITH_NODE);
    let result: CdiResult = { problem: '/dev/x is not there', reason: 'device-node-missing' };
    const cdi: CdiFiles = {
      ...noCdi,
      write: () => Promise.resolve(result),
      reconcile: (leases) => Promise.resolve(new Map(leases.map(({ id }) => [id, result]))),
    };
    const first = await allocationWorld(machine, { cdi });
    const lease = await first.allocations.allocate(bound('key'), { uid: 7, process: undefined }, forever());
    assert.ok(lease.ok);
    const reasonOf = ({ allocations }: typeof first): unknown => allocations.leases()[0]?.reason;
    assert.equal(reasonOf(first), 'device-node-missing');
    const [g0] = machine.resources.get(GPU)?.devices ?? [];
    assert.ok(g0 !== undefined);
    g0.health = 'Unhealthy';
    first.allocations.changed();
    assert.equal(reasonOf(first), 'device-unhealthy');
    g0.health = 'Healthy';
    first.allocations.changed();
    assert.equal(reasonOf(first), 'device-node-missing', 'it is not there yet');
    first.crash();
    const next = await allocationWorld(machine, { cdi });
    next.allocations.changed();
    assert.equal(reasonOf(next), 'device-node-missing');
    assert.deepEqual(next.allocations.cdiOf(lease.value.id), result);
    result = { problem: 'the directory is read-only', reason: 'later' };
    await machine.clock.advance(10_000);
    assert.equal(reasonOf(next), undefined, 'its node is there');
    result = { name: 'pb/lease=1' };
    await machine.clock.advance(10_000);
    assert.deepEqual(next.allocations.cdiOf(lease.value.id), result);
  });

  it('have leases that get their CDI name once its directory can be written, at one try a look while it cannot', async () => {
    const machine = machineWith('g0', 'g1', 'g2');
    let result: CdiResult = { problem: 'no directory', reason: 'later' };
    let written = 0;
    const write = () => ((written += 1), Promise.resolve(result));
    const { allocations } = await allocationWorld(machine, { cdi: { ...noCdi, write } });
    for (let at = 0; at < 3; at += 1) {
      const { ok } = await allocations.allocate(bound('key'), { uid: at, process: undefined }, forever());
      assert.ok(ok);
    }
    written = 0;
    await machine.clock.advance(10_000);
    assert.equal(written, 1);
    result = { name: 'pb/lease=1' };
    await machine.clock.advance(10_000);
    const names = allocations.leases().map(({ id }) => allocations.cdiOf(id));
    assert.deepEqual(names, [result, result, result]);
    assert.equal(written, 4);
    await machine.clock.advance(10_000);
    assert.equal(written, 4);
  });

  it('have leases behind one whose device node cannot be looked at, of which each is the first in its turn', async () => {
    const machine = machineWith('g0', 'g1', 'g2');
    const order: (string | undefined)[] = [];
    const write: CdiFiles['write'] = ({ key }) => {
      order.push(key);
      return Promise.resolve({ problem: 'it cannot be looked at', reason: 'unseen' });
    };
    const { allocations } = await allocationWorld(machine, { cdi: { ...noCdi, write } });
    for (const key of ['a', 'b', 'c']) {
      assert.ok((await allocations.allocate(request(GPU, { key }), { uid: 0, process: undefined }, forever())).ok);
    }
    for (const expected of ['bca', 'cab', 'abc']) {
      order.length = 0;
      await machine.clock.advance(10_000);
      assert.equal(order.join(''), expected);
    }
  });
});
