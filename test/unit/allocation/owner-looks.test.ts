import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Allocations } from '../../../src/allocation/allocations.js';
import { Ledger } from '../../../src/allocation/ledger.js';
import { OwnerLooks } from '../../../src/allocation/owner-looks.js';
import type { OwnerPort } from '../../../src/allocation/ports.js';
import { onceATurn } from '../../../src/platform/peer/owners.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { FakeClock } from '../../support/fake-clock.js';

const GPU = 'v/gpu';
const STRANGER = 4001;
const OTHER = 4002;
const PID = 42;
const words = { namespace: '', name: '', part: '' };

/** A machine whose files count how often they are read, and on which each look takes some time. */
class Looked {
  readonly machine = new FakeMachine();
  looks = 0;
  lookMs = 0;
  /** Control groups without a process, by path. */
  readonly emptied = new Set<string>();

  constructor() {
    this.machine.offer(GPU, ...Array.from({ length: 600 }, (_, nth) => `g${String(nth)}`));
  }

  #look<T>(seen: T): T {
    this.looks += 1;
    if (this.lookMs > 0) this.machine.clock.pass(this.lookMs);
    return seen;
  }

  readonly owners: OwnerPort = {
    isAlive: ({ pid, startTime }) => this.#look(this.machine.processes.get(pid) === startTime),
    cgroupOf: (pid) => ({ path: `/group-${String(pid)}`, inode: String(pid) }),
    isPopulated: ({ path }) => this.#look(!this.emptied.has(path)),
  };

  async allocator(): Promise<Allocations> {
    return (await allocationWorld(this.machine, { owners: this.owners })).allocations;
  }

  /** Gives leases to a process, or to its control group. */
  async give(allocations: Allocations, bind: 'process' | 'cgroup', uid: number, pid: number, count = 1): Promise<void> {
    this.machine.processes.set(pid, '1');
    for (let nth = 0; nth < count; nth += 1) {
      const raw = request(GPU, { owner: { bind, ...words }, key: `${String(pid)}-${String(nth)}` });
      const caller = { uid, process: { pid, startTime: '1' } };
      const given = await allocations.allocate(raw, caller, new AbortController().signal);
      assert.ok(given.ok);
    }
    this.looks = 0;
  }
}

describe('the owners of leases', () => {
  it('are looked at once for all their leases, however many connections end', async () => {
    for (const bind of ['process', 'cgroup'] as const) {
      const looked = new Looked();
      const allocations = await looked.allocator();
      await looked.give(allocations, bind, STRANGER, PID, 60);
      for (let ended = 0; ended < 100; ended += 1) {
        allocations.keeper.looks.connectionEnded({ uid: STRANGER, pid: PID });
        await looked.machine.clock.advance(10);
      }
      assert.ok(looked.looks > 10 && looked.looks <= 101, `${bind}: ${String(looked.looks)} looks in a second`);
      looked.looks = 0;
      await looked.machine.clock.advance(1_000);
      assert.ok(looked.looks >= 2 && looked.looks <= 3, `${bind}: ${String(looked.looks)} looks after the last one`);
    }
  });

  it('have their leases ended at once with them, and when the process closes its connections a moment before', async () => {
    for (const lateMs of [0, 15, 90, 480]) {
      const looked = new Looked();
      const allocations = await looked.allocator();
      await looked.give(allocations, 'process', STRANGER, PID, 3);
      await looked.give(allocations, 'cgroup', STRANGER, 43, 3);
      for (const pid of [PID, 43]) allocations.keeper.looks.connectionEnded({ uid: STRANGER, pid });
      await looked.machine.clock.advance(lateMs);
      assert.equal(allocations.leases().length, 6);
      looked.machine.processes.delete(PID);
      looked.emptied.add('/group-43');
      await looked.machine.clock.advance(500 - lateMs);
      assert.deepEqual(allocations.leases(), [], `${String(lateMs)} ms late`);
    }
  });

  it('end as soon while their connections go on ending', async () => {
    const looked = new Looked();
    const allocations = await looked.allocator();
    await looked.give(allocations, 'process', STRANGER, PID);
    for (let ended = 0; ended < 30; ended += 1) {
      allocations.keeper.looks.connectionEnded({ uid: STRANGER, pid: PID });
      await looked.machine.clock.advance(7);
    }
    looked.machine.processes.delete(PID);
    allocations.keeper.looks.connectionEnded({ uid: STRANGER, pid: PID });
    await looked.machine.clock.advance(20);
    assert.deepEqual(allocations.leases(), []);
  });

  it('are not looked at when connections of other processes, and of other users, end', async () => {
    const looked = new Looked();
    const allocations = await looked.allocator();
    await looked.give(allocations, 'process', STRANGER, PID);
    await looked.give(allocations, 'cgroup', STRANGER, 43);
    for (const uid of [OTHER, 0]) allocations.keeper.looks.connectionEnded({ uid, pid: 99 });
    await looked.machine.clock.advance(1_000);
    assert.equal(looked.looks, 0);
    // The control group may be that of another process of the user.
    allocations.keeper.looks.connectionEnded({ uid: STRANGER, pid: 99 });
    await looked.machine.clock.advance(1_000);
    assert.equal(looked.looks, 4);
  });

  it('of one ordinary user take a share of the time, and those of others are looked at as soon as ever', async () => {
    const looked = new Looked();
    const allocations = await looked.allocator();
    for (let pid = 100; pid < 300; pid += 1) await looked.give(allocations, 'cgroup', STRANGER, pid);
    await looked.give(allocations, 'process', OTHER, PID);
    looked.lookMs = 1;
    const { clock } = looked.machine;
    const startedAt = clock.mono();
    while (clock.mono() < startedAt + 5_000) {
      allocations.keeper.looks.connectionEnded({ uid: STRANGER, pid: 100 });
      await clock.advance(10);
    }
    const passedMs = clock.mono() - startedAt;
    assert.ok(looked.looks < 250 + passedMs / 8, `${String(looked.looks)} looks of 1 ms in ${String(passedMs)} ms`);
    looked.machine.processes.delete(PID);
    allocations.keeper.looks.connectionEnded({ uid: OTHER, pid: PID });
    await clock.advance(20);
    assert.ok(allocations.leases().every(({ uid }) => uid === STRANGER));
    for (let pid = 100; pid < 300; pid += 1) looked.emptied.add(`/group-${String(pid)}`);
    await clock.advance(11_000);
    assert.deepEqual(allocations.leases(), [], 'an end that was put off is found by the look at everybody');
  });

  it('are looked for once, however many connections end together', async () => {
    class WalkedLedger extends Ledger {
      walks = 0;
      override all(): ReturnType<Ledger['all']> {
        this.walks += 1;
        return super.all();
      }
    }
    const ledger = new WalkedLedger();
    const clock = new FakeClock();
    const ports = { clock, ownUid: 0, userOf: (uid: number): number => uid, owners: new Looked().owners };
    const looks = new OwnerLooks(ports, ledger, () => undefined);
    for (let pid = 0; pid < 1024; pid += 1) looks.connectionEnded({ uid: STRANGER, pid });
    await clock.advance(1);
    assert.equal(ledger.walks, 1);
    looks.connectionEnded({ uid: STRANGER, pid: PID });
    await clock.advance(1);
    assert.equal(ledger.walks, 2, 'and again for those that end later');
  });

  it('are looked at once in a turn, for all callers', async () => {
    const looked = new Looked();
    const turns: (() => void)[] = [];
    const owners = onceATurn(looked.owners, () => new Promise((resolve) => turns.push(resolve)));
    const group = { path: '/g', inode: '1' };
    for (let nth = 0; nth < 5; nth += 1) {
      assert.equal(owners.isAlive({ pid: PID, startTime: '1' }, 4001), false);
      assert.equal(owners.isPopulated(group, 4001), true);
    }
    assert.equal(looked.looks, 2);
    looked.emptied.add('/g');
    assert.equal(owners.isPopulated({ path: '/g', inode: '2' }, 4001), false, 'another group of the name');
    for (const turn of turns) turn();
    await Promise.resolve();
    assert.equal(owners.isPopulated(group, 4001), false, 'in the next turn');
  });
});
