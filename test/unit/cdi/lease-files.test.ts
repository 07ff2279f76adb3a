import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaseFiles } from '../../../src/cdi/lease-files.js';
import type { CdiDirectory } from '../../../src/cdi/ports.js';
import { fileOf, leaseOf, writtenAs } from '../../../src/cdi/names.js';
import type { Lease } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { FakeClock } from '../../support/fake-clock.js';
import { lease } from '../../support/leases.js';

const NO_DIRECTORY: CdiDirectory = {
  path: '/run/cdi',
  prepare: () => Promise.resolve(),
  names: () => Promise.resolve([]),
  text: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
  rename: () => Promise.resolve(),
  write: () => Promise.resolve(),
};

/** The broker is root's. */
const OF_ROOT = {
  kind: 'v/c',
  origin: { root: '0'.repeat(16), boot: 'b' },
  ownUid: 0,
  userOf: (uid: number): number => uid,
};

describe('CDI files on a file system that hangs', () => {
  it('hold up one lease for two seconds, the next not at all, and work again when it answers', async () => {
    const clock = new FakeClock();
    let answer = (): void => undefined;
    let puts = 0;
    const directory: CdiDirectory = {
      ...NO_DIRECTORY,
      write: () => {
        puts += 1;
        return puts > 1 ? Promise.resolve() : new Promise((resolve) => (answer = resolve));
      },
    };
    const told: (string | undefined)[] = [];
    const files = new LeaseFiles({
      directory,
      look: () => Promise.resolve(new Map()),
      ...OF_ROOT,
      clock,
      degraded: (why) => told.push(why),
    });
    const first = files.write(lease());
    await clock.advance(2000);
    const late = await first;
    assert.ok('problem' in late);
    assert.match(late.problem, /did not answer within 2 s/);
    const second = await files.write(lease());
    assert.ok('problem' in second);
    assert.match(second.problem, /does not answer/);
    assert.equal(puts, 1);
    answer();
    await clock.advance(0);
    assert.deepEqual(await files.write(lease()), { name: `v/c=${lease().id}` });
    assert.equal(told.at(-1), undefined);
    assert.equal(clock.pending, 0);
  });

  it('leave threads of the pool to others, however many leases there are', async () => {
    const clock = new FakeClock();
    let [underWay, most] = [0, 0];
    const answers: (() => void)[] = [];
    const hangs = (): Promise<void> => {
      underWay += 1;
      most = Math.max(most, underWay);
      return new Promise<void>((resolve) => answers.push(resolve)).then(() => void (underWay -= 1));
    };
    const files = new LeaseFiles({
      directory: { ...NO_DIRECTORY, write: hangs },
      look: () => hangs().then(() => new Map()),
      ...OF_ROOT,
      clock,
      degraded: () => undefined,
    });
    const all = Promise.all(Array.from({ length: 8 }, () => files.write(lease())));
    await clock.advance(2000);
    assert.ok((await all).every((result) => 'problem' in result));
    assert.equal(most, 2);
    for (const answer of answers.splice(0)) answer();
    await clock.advance(0);
    most = 0;
    const devices = [{ hostPath: '/held', containerPath: '/dev/x', permissions: 'rw' }];
    const withNode = (uid: number): Lease => ({ ...lease({ answer: { devices } }), uid });
    const looks = Promise.all([4001, 4001, 4002].map((uid) => files.write(withNode(uid))));
    await clock.advance(1000);
    assert.equal(most, 1, 'ordinary users together');
    const ofRoot = files.write(withNode(0));
    await clock.advance(1000);
    assert.equal(most, 2, 'root waits for none of them');
    for (let turns = 0; turns < 4; turns += 1) {
      for (const answer of answers.splice(0)) answer();
      await clock.advance(0);
    }
    await Promise.all([looks, ofRoot]);
    assert.equal(clock.pending, 0);
  });

  it('of what a plugin named are a problem of its lease alone, and the look ends', async () => {
    const clock = new FakeClock();
    const told: (string | undefined)[] = [];
    let signal: AbortSignal | undefined;
    const files = new LeaseFiles({
      directory: NO_DIRECTORY,
      look: (paths, given) => {
        if (paths[0] !== '/slow') return Promise.resolve(new Map());
        signal = given;
        return new Promise((_, reject) => given.addEventListener('abort', () => reject(given.reason as Error)));
      },
      ...OF_ROOT,
      clock,
      degraded: (why) => told.push(why),
    });
    const slow = lease({ answer: { devices: [{ hostPath: '/slow', containerPath: '/dev/x', permissions: 'rw' }] } });
    const first = files.write(slow);
    assert.deepEqual(await files.write(lease()), { name: `v/c=${lease().id}` });
    await clock.advance(2000);
    assert.deepEqual(await first, {
      problem:
        'the lease has no CDI name: its device nodes cannot be looked at: the file system did not answer within 2 s',
      reason: 'unseen',
    });
    assert.equal(signal?.aborted, true);
    assert.deepEqual(told, [undefined]);
    assert.deepEqual(await files.write(lease()), { name: `v/c=${lease().id}` });
    assert.equal(clock.pending, 0);
  });
});

describe('CDI files of leases that are given while the ledger is reset', () => {
  const ROOT = { uid: 0, process: undefined };
  const { signal } = new AbortController();

  /** A machine whose newest checkpoint is lost, with a directory that tells its names when `names` is called. */
  async function staleWorld() {
    const machine = new FakeMachine();
    const gpu = machine.offer('v/gpu', 'g0');
    const there = new Map<string, string>();
    let isStarted = false;
    let names = (): void => undefined;
    const asked = new Promise<void>((resolve) => (names = resolve));
    const directory: CdiDirectory = {
      path: '/run/cdi',
      prepare: () => Promise.resolve(),
      names: async () => {
        if (isStarted) await asked;
        return [...there.keys()];
      },
      text: (name) => Promise.resolve(there.get(name)),
      remove: (name) => Promise.resolve(void there.delete(name)),
      rename: (from, to) => {
        const text = there.get(from);
        if (text === undefined || !there.delete(from)) return Promise.reject(new Error('ENOENT'));
        there.set(to, text);
        return Promise.resolve();
      },
      write: (name, text) => Promise.resolve(void there.set(name, text)),
    };
    const cdi = new LeaseFiles({
      ownUid: 0,
      userOf: (uid) => uid,
      ...{ directory, clock: machine.clock, kind: 'v/c', origin: { root: '0'.repeat(16), boot: machine.bootId } },
      look: () => Promise.resolve(new Map()),
      degraded: () => undefined,
    });
    const { allocations } = await allocationWorld(machine, { cdi }, 'stale');
    isStarted = true;
    const leases = (): (string | undefined)[] => [...there.keys()].map(leaseOf);
    return { machine, gpu, allocations, names: () => names(), leases, cdi, there };
  }

  it('stay', async () => {
    const { machine, allocations, names, leases } = await staleWorld();
    const reset = allocations.keeper.reset();
    await machine.clock.settle();
    const given = await allocations.allocate(request('v/gpu', { key: 'k' }), ROOT, signal);
    assert.ok(given.ok);
    names();
    await reset;
    assert.deepEqual(leases(), [given.value.id]);
  });

  it('stay while they are being written, and a draft of a lease that has its file goes', async () => {
    const { cdi, there, names } = await staleWorld();
    names();
    const origin = '0'.repeat(16);
    const coming = '01zzzzzzzzaaaaaaaaaaaaaaaa';
    await cdi.write(lease());
    for (const id of [lease().id, coming]) there.set(writtenAs(id, origin), '');
    await cdi.reconcile([lease()], true, () => true);
    assert.deepEqual([...there.keys()], [fileOf(lease().id), writtenAs(coming, origin)]);
  });

  it('are not written before their plugins answered', async () => {
    const { machine, gpu, allocations, names, leases } = await staleWorld();
    gpu.allocate = () => new Promise(() => undefined);
    void allocations.allocate(request('v/gpu', { key: 'k' }), ROOT, signal);
    await machine.clock.settle();
    names();
    await allocations.keeper.reset();
    assert.deepEqual(leases(), []);
  });
});

const ROOT = { uid: 0, process: undefined };

describe('A CDI file that cannot be removed with its lease', () => {
  const { signal } = new AbortController();

  it('is removed at a later look, and the directory is told of until then', async () => {
    const machine = new FakeMachine();
    machine.offer('v/gpu', 'g0');
    const there = new Map<string, string>();
    let isReadOnly = false;
    const change = (work: () => void): Promise<void> => {
      if (isReadOnly) return Promise.reject(new Error('EROFS'));
      work();
      return Promise.resolve();
    };
    const directory: CdiDirectory = {
      path: '/run/cdi',
      prepare: () => Promise.resolve(),
      names: () => Promise.resolve([...there.keys()]),
      text: (name) => Promise.resolve(there.get(name)),
      remove: (name) => change(() => there.delete(name)),
      rename: (from, to) => change(() => void (there.set(to, there.get(from) ?? ''), there.delete(from))),
      write: (name, text) => change(() => there.set(name, text)),
    };
    const told: (string | undefined)[] = [];
    const cdi = new LeaseFiles({
      ownUid: 0,
      userOf: (uid) => uid,
      ...{ directory, clock: machine.clock, kind: 'v/c', origin: { root: '0'.repeat(16), boot: machine.bootId } },
      look: () => Promise.resolve(new Map()),
      degraded: (why) => told.push(why),
    });
    const { allocations } = await allocationWorld(machine, { cdi });
    const before = await allocations.allocate(request('v/gpu', { key: 'before' }), ROOT, signal);
    assert.ok(before.ok);
    isReadOnly = true;
    await allocations.release({ id: before.value.id, key: '' }, ROOT);
    await machine.clock.advance(10_000);
    assert.deepEqual([...there.keys()], [fileOf(before.value.id)]);
    isReadOnly = false;
    const after = await allocations.allocate(request('v/gpu', { key: 'after' }), ROOT, signal);
    assert.ok(after.ok);
    assert.match(told.at(-1) ?? '', /EROFS/);
    await machine.clock.advance(10_000);
    assert.deepEqual([...there.keys()], [fileOf(after.value.id)]);
    assert.equal(told.at(-1), undefined);
  });
});

describe('CDI files of a life before, whose leases ended while their directory did not answer', () => {
  it('are removed once it answers, although the start could not look for them', async () => {
    const machine = new FakeMachine();
    const origin = { root: '0'.repeat(16), boot: machine.bootId };
    let text = '';
    let isSilent = false;
    const there = new Set<string>();
    const answer = <T>(value: T): Promise<T> => (isSilent ? Promise.reject(new Error('EIO')) : Promise.resolve(value));
    const told: (string | undefined)[] = [];
    const cdi = new LeaseFiles({
      ownUid: 0,
      userOf: (uid) => uid,
      ...{ clock: machine.clock, kind: 'v/c', origin },
      directory: {
        path: '/run/cdi',
        prepare: () => answer(undefined),
        names: () => answer([...there]),
        text: () => answer(text),
        remove: (file) => answer(void there.delete(file)),
        rename: () => answer(undefined),
        write: (_name, written) => Promise.resolve(void (text = written)),
      },
      look: () => Promise.resolve(new Map()),
      degraded: (why) => told.push(why),
    });
    machine.offer('v/gpu', 'g0');
    const { allocations } = await allocationWorld(machine, { cdi });
    const given = await allocations.allocate(request('v/gpu', { key: 'k' }), ROOT, new AbortController().signal);
    assert.ok(given.ok, JSON.stringify(given));
    // Nobody has that lease any more.
    there.add(fileOf(given.value.id));
    isSilent = true;
    await cdi.reconcile([], true);
    assert.equal(cdi.hasLeftovers, true);
    isSilent = false;
    await machine.clock.advance(10_000);
    await cdi.reconcile([], true);
    assert.deepEqual([[...there], cdi.hasLeftovers, told.at(-1)], [[], false, undefined]);
  });
});
