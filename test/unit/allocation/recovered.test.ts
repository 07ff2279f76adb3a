import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { noCdi, type CdiFiles } from '../../../src/allocation/ports.js';
import type { CdiClaim, LedgerState } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';

const GPU = 'v/gpu';
const NIC = 'v/nic';
const ROOT = { uid: 0, process: undefined };
const LOST = ['01zzzzzzzzaaaaaaaaaaaaaaaa', '01zzzzzzzzbbbbbbbbbbbbbbbb'] as const;

/** The CDI files of an earlier life, by lease: devices of each resource. They stay until somebody removes them. */
class Files {
  readonly there = new Map<string, Readonly<Record<string, readonly string[]>>>();
  /** Each `reconcile`: the leases that have a file then, and whether others may go. */
  readonly reconciled: { readonly leases: readonly string[]; readonly mayRemove: boolean }[] = [];
  readonly cdi: CdiFiles = {
    ...noCdi,
    claims: () => Promise.resolve([...this.there].map(claimOf)),
    reconcile: (leases, mayRemove) => {
      this.reconciled.push({ leases: leases.map(({ id }) => id), mayRemove });
      return Promise.resolve(new Map());
    },
    remove: (id) => {
      this.there.delete(id);
      return Promise.resolve();
    },
  };
}

function claimOf([leaseId, devices]: [string, Readonly<Record<string, readonly string[]>>]): CdiClaim {
  const named = Object.entries(devices).map(
    ([resource, ids]) => [resource, ids.map((id) => ({ id, numaNodes: [] }))] as const,
  );
  return { leaseId, devices: new Map(named) };
}

/** A machine whose newest checkpoint is lost: it knows the lease `old` of g0, and files name more devices. */
async function afterTheLoss() {
  const machine = new FakeMachine();
  machine.offer(GPU, 'g0', 'g1', 'g2', 'g3');
  machine.offer(NIC, 'n0', 'n1');
  const before = await allocationWorld(machine);
  assert.equal(await codeOf(before.allocations, { key: 'old', ids: ['g0'] }), 'given');
  before.crash();
  const files = new Files();
  const [known] = machine.disk.values();
  files.there.set(known?.id ?? '', { [GPU]: ['g0'] });
  files.there.set(LOST[0], { [GPU]: ['g1'] });
  files.there.set(LOST[1], { [GPU]: ['g2'], [NIC]: ['n0'] });
  return {
    machine,
    files,
    start: (ledger: LedgerState = 'stale') => allocationWorld(machine, { cdi: files.cdi }, ledger),
  };
}

async function codeOf(allocations: Allocations, more: Parameters<typeof request>[1]): Promise<string> {
  const result = await allocations.allocate(request(GPU, more), ROOT, new AbortController().signal);
  return result.ok ? 'given' : result.refusal.code;
}

const recovered = (allocations: Allocations, key = 'recovered') => allocations.leases().find((one) => one.key === key);

describe('devices that CDI files still name, while their leases were lost with the newest checkpoint', () => {
  it('are in one lease of root with the key recovered, beside the leases that are known, and are given to nobody', async () => {
    const { machine, start } = await afterTheLoss();
    const { allocations, events } = await start();
    assert.equal(allocations.keeper.state, 'stale');
    assert.deepEqual(
      allocations.leases().map(({ key, uid, state, reason, granted }) => ({ key, uid, state, reason, granted })),
      [
        {
          ...{ key: 'old', uid: 0, state: 'unconfirmed', reason: 'owner-unseen' },
          granted: [{ resource: GPU, devices: [{ id: 'g0', numaNodes: [] }] }],
        },
        {
          ...{ key: 'recovered', uid: 0, state: 'unconfirmed', reason: 'ledger-recovered' },
          granted: [
            { resource: GPU, devices: ['g1', 'g2'].map((id) => ({ id, numaNodes: [] })) },
            { resource: NIC, devices: [{ id: 'n0', numaNodes: [] }] },
          ],
        },
      ],
    );
    assert.ok((recovered(allocations)?.id ?? '') > LOST[1], 'ids grow, those of lost leases counted');
    for (const id of ['g0', 'g1', 'g2'])
      assert.equal(await codeOf(allocations, { key: 'k', ids: [id] }), 'DEVICE_TAKEN');
    assert.equal(await codeOf(allocations, { key: 'k' }), 'given');
    assert.equal(await codeOf(allocations, { key: 'l' }), 'NO_DEVICES');
    assert.ok(events.some(({ type, reason }) => type === 'checkpoint' && reason === 'ledger-recovered'));
    await machine.clock.settle();
    assert.ok(
      [...machine.disk.values()].some(({ key }) => key === 'recovered'),
      'it is on the disk',
    );
  });

  it('keep their files while the ledger is stale', async () => {
    const { files, start } = await afterTheLoss();
    const { allocations } = await start();
    const leases = allocations.leases().map(({ id }) => id);
    await allocations.keeper.removeLeftovers();
    assert.deepEqual(files.reconciled, [{ leases, mayRemove: false }]);
    assert.equal(await codeOf(allocations, { key: 'k' }), 'given');
    await allocations.release({ id: '', key: 'k' }, ROOT);
    assert.equal(files.there.size, 3);
  });

  it('have another key where root uses that one', async () => {
    const { files, start } = await afterTheLoss();
    const before = await start('ok');
    assert.equal(await codeOf(before.allocations, { key: 'recovered', ids: ['g3'] }), 'given');
    before.crash();
    const { allocations } = await start();
    assert.deepEqual(
      recovered(allocations)?.granted.map(({ devices }) => devices.map(({ id }) => id)),
      [['g3']],
    );
    assert.deepEqual(recovered(allocations, 'recovered-2')?.granted.length, 2);
    assert.equal(files.there.size, 3);
  });

  it('are free again once that lease is released, also after the next start: its files go with it', async () => {
    const { files, start } = await afterTheLoss();
    const first = await start();
    const released = await first.allocations.release({ id: '', key: 'recovered' }, ROOT);
    assert.deepEqual(released, { ok: true, value: { wasHeld: true, warnings: [] } });
    assert.equal(await codeOf(first.allocations, { key: 'k', ids: ['g1'] }), 'given');
    assert.equal(files.there.has(LOST[0]) || files.there.has(LOST[1]), false);
    first.crash();
    const { allocations } = await start();
    assert.equal(recovered(allocations), undefined);
    assert.equal(await codeOf(allocations, { key: 'l', ids: ['g2'] }), 'given');
  });

  it('stay in that very lease over further starts, until a reset frees them and keeps the leases that are known', async () => {
    const { files, start } = await afterTheLoss();
    const first = await start();
    const id = recovered(first.allocations)?.id;
    first.crash();
    const { allocations, events } = await start();
    assert.deepEqual(
      [recovered(allocations)?.id, recovered(allocations)?.reason, recovered(allocations, 'recovered-2')],
      [id, 'ledger-recovered', undefined],
    );
    assert.equal(await allocations.keeper.reset(), 'stale');
    assert.deepEqual(
      allocations.leases().map(({ key }) => key),
      ['old'],
    );
    assert.equal(events.at(-1)?.reason, 'ledger-reset');
    assert.equal(files.reconciled.at(-1)?.mayRemove, true);
    assert.equal(await codeOf(allocations, { key: 'k', ids: ['g1'] }), 'given');
    assert.equal(await allocations.keeper.reset(), undefined);
  });
});

describe('CDI files of leases', () => {
  it('are put right by one at a time, where an operator resets the ledger while a start does it', async () => {
    const { files, machine } = await afterTheLoss();
    let underWay = 0;
    let most = 0;
    const reconcile: CdiFiles['reconcile'] = async (...args) => {
      most = Math.max(most, (underWay += 1));
      await new Promise(setImmediate);
      underWay -= 1;
      return files.cdi.reconcile(...args);
    };
    const { allocations } = await allocationWorld(machine, { cdi: { ...files.cdi, reconcile } }, 'stale');
    await Promise.all([allocations.keeper.placeFiles(), allocations.keeper.reset()]);
    assert.deepEqual(
      files.reconciled.map(({ mayRemove }) => mayRemove),
      [false, false, true],
    );
    assert.equal(most, 1);
  });
});

describe('CDI files without a lease', () => {
  for (const [ledger, mayRemove] of [
    ['ok', true],
    ['stale', false],
    ['unknown', false],
    ['unread', false],
  ] as const)
    it(`${mayRemove ? 'go' : 'stay'} at a start whose ledger is ${ledger}`, async () => {
      const files = new Files();
      const { allocations } = await allocationWorld(new FakeMachine(), { cdi: files.cdi }, ledger);
      await allocations.keeper.removeLeftovers();
      assert.deepEqual(files.reconciled, [{ leases: [], mayRemove }]);
    });
});

describe('a ledger of which nothing is known', () => {
  const starts = {
    unknown: { ledger: 'unknown', ports: {} },
    unread: {
      ledger: 'unread',
      ports: {
        store: {
          mayWrite: false,
          put: () => Promise.resolve(false),
          remove: () => Promise.resolve(false),
          setLedger: () => Promise.resolve(false),
          expect: () => undefined,
          isKept: () => Promise.resolve(true),
        },
      },
    },
  } as const;

  for (const [name, { ledger, ports }] of Object.entries(starts))
    it(`(${name}) gives out nothing, ${name === 'unknown' ? 'until it is reset' : 'and cannot be reset'}`, async () => {
      const machine = new FakeMachine();
      machine.offer(GPU, 'g0');
      const { allocations } = await allocationWorld(machine, ports, ledger);
      assert.equal(await codeOf(allocations, { key: 'k' }), 'LEDGER_UNKNOWN');
      assert.equal(await codeOf(allocations, { key: 'k', waitMs: 1000 }), 'LEDGER_UNKNOWN');
      assert.equal(await allocations.keeper.reset(), name);
      assert.equal(await codeOf(allocations, { key: 'k' }), name === 'unknown' ? 'given' : 'LEDGER_UNKNOWN');
    });
});
