import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Impairments } from '../../../src/allocation/impairments.js';
import { Ledger, type Entry } from '../../../src/allocation/ledger.js';
import type { AllocationPorts, Offer } from '../../../src/allocation/ports.js';
import { Telling } from '../../../src/allocation/telling.js';
import type { Clock } from '../../../src/kernel/clock.js';
import type { Lease } from '../../../src/model/lease.js';
import { FakeClock } from '../../support/fake-clock.js';
import { NO_ANSWER } from '../../support/leases.js';

/** A lease of one device of each of these resources. */
function entryOf(id: string, resources: readonly string[]): Entry {
  const granted = resources.map((resource) => ({ resource, devices: [{ id: `${id} of ${resource}`, numaNodes: [] }] }));
  const lease: Partial<Lease> = {
    bootId: 'boot',
    id,
    state: 'active',
    reason: undefined,
    uid: 4001,
    granted,
    answer: NO_ANSWER,
  };
  const owner = { bind: 'key', namespace: 'key', name: id, part: '' } as const;
  return {
    lease: { ...lease, owner } as Lease,
    renewed: undefined,
    endsAt: undefined,
    cdi: undefined,
    bytes: undefined,
  };
}

describe('a look at the devices of leases', () => {
  const RESOURCES = Array.from({ length: 8 }, (_, nth) => `v/r${String(nth)}`);

  /** To read the list of a resource takes so long. */
  function world(
    listMs = 2,
    more: Partial<AllocationPorts['offers']> & { stranger?: (resource: string) => number | undefined } = {},
  ) {
    const { stranger = () => undefined, ...others } = more;
    const fake = new FakeClock();
    let [spent, offers, turns] = [0, 0, 0];
    const ledger = new Ledger();
    for (let nth = 0; nth < 4; nth += 1) ledger.add(entryOf(String(nth), RESOURCES));
    const clock: Clock = {
      wall: () => fake.wall(),
      mono: () => fake.mono() + spent,
      alarm: (ms, ring) => fake.alarm(ms, ring),
    };
    const health = new Map<string, string>();
    const offer = (resource: string): Offer => {
      const devices = [...ledger.takenOf(resource).keys()].map((id) => ({
        ...{ id, numaNodes: [] },
        health: health.get(id) ?? 'Healthy',
      }));
      let isRead = false;
      return {
        isReady: true,
        state: 'ready',
        instanceId: resource,
        stranger: stranger(resource),
        listed: 4,
        get devices() {
          if (!isRead) [offers, spent] = [offers + 1, spent + listMs];
          isRead = true;
          return devices;
        },
        plugin: undefined,
      };
    };
    const ports: Partial<AllocationPorts> = {
      ...{ clock, bootId: 'boot' },
      offers: { of: offer, prepare: () => undefined, ...others },
      userOf: (uid) => uid,
      nextTurn: () => ((turns += 1), Promise.resolve()),
    };
    const followers = { tell: () => undefined, end: () => undefined };
    const telling = new Telling({ record: () => undefined }, followers as never);
    const changes: (string | undefined)[] = [];
    telling.onChange((lease) => changes.push(lease?.id));
    const impairments = new Impairments(ports as AllocationPorts, ledger, telling, () => true);
    const look = (): void => impairments.lookAtAll(new Set(['v/r0']));
    const seen = (): { offers: number; turns: number } => ({ offers, turns });
    return { fake, ledger, impairments, health, look, seen, changes };
  }

  it('is taken in slices, and comes again in a fifth of the time, with the newest lists', async () => {
    const { fake, ledger, health, look, seen } = world();
    look();
    await fake.settle();
    assert.deepEqual([seen().offers, seen().turns >= 3], [8, true]);
    health.set('2 of v/r0', 'Unhealthy');
    for (let ms = 0; ms < 63; ms += 1) {
      look();
      await fake.advance(1);
    }
    assert.equal(seen().offers, 8, 'sixteen milliseconds are paid back in sixty-four');
    await fake.advance(2);
    assert.equal(seen().offers, 16);
    assert.equal(ledger.get('2')?.lease.state, 'impaired');
    assert.equal(ledger.get('1')?.lease.state, 'active');
  });

  it('is no change of who has which devices, at each of which all resources may be looked at', async () => {
    const { fake, ledger, health, look, changes } = world();
    for (const said of ['Unhealthy', 'Healthy']) {
      health.set('2 of v/r0', said);
      look();
      await fake.advance(1_000);
      assert.equal(ledger.get('2')?.lease.state, said === 'Healthy' ? 'active' : 'impaired');
    }
    assert.deepEqual(changes, []);
  });

  it('comes again five seconds later at most, also where the process was stopped meanwhile', async () => {
    const { fake, look, seen } = world(600_000);
    look();
    await fake.settle();
    look();
    await fake.advance(4_999);
    assert.equal(seen().offers, 8);
    await fake.advance(1);
    assert.equal(seen().offers, 16);
  });

  it('of one resource waits for no list of an ordinary user, and of a lease with both for that', async () => {
    const lists = new Map<string, () => void>();
    const { fake, ledger, health, impairments } = world(0, {
      stranger: (resource) => (resource === 'v/theirs' ? 4001 : undefined),
      prepare: ([resource = '']) =>
        resource === 'v/theirs' ? new Promise((resolve) => lists.set(resource, () => resolve(undefined))) : undefined,
    });
    for (const { lease } of [...ledger.all()]) ledger.remove(lease.id);
    ledger.add(entryOf('root', ['v/root']));
    ledger.add(entryOf('theirs', ['v/theirs']));
    ledger.add(entryOf('both', ['v/root', 'v/theirs']));
    const states = (): string[] => ['root', 'theirs', 'both'].map((id) => ledger.get(id)?.lease.state ?? '');
    for (const { lease } of ledger.all())
      for (const { devices } of lease.granted) for (const { id } of devices) health.set(id, 'Unhealthy');
    impairments.lookAtAll(undefined);
    await fake.settle();
    assert.deepEqual(states(), ['impaired', 'active', 'active']);
    for (const id of ['root of v/root', 'both of v/root']) health.set(id, 'Healthy');
    impairments.lookAtAll(new Set(['v/root']));
    await fake.settle();
    assert.deepEqual(states(), ['active', 'active', 'active'], 'the next look does not wait for the one before');
    lists.get('v/theirs')?.();
    await fake.settle();
    lists.get('v/theirs')?.();
    await fake.settle();
    assert.deepEqual(states(), ['active', 'impaired', 'impaired']);
  });

  it('says nothing of a lease whose plugin is another user’s, or nobody’s, by now', async () => {
    const lists: (() => void)[] = [];
    const state = { user: 4001 as number | undefined };
    const { fake, ledger, health, impairments } = world(0, {
      stranger: () => state.user,
      prepare: ([resource = '']) =>
        resource === 'v/b' && state.user !== undefined
          ? new Promise((resolve) => lists.push(() => resolve(undefined)))
          : undefined,
    });
    for (const { lease } of [...ledger.all()]) ledger.remove(lease.id);
    ledger.add(entryOf('x', ['v/a', 'v/b']));
    impairments.lookAtAll(undefined);
    await fake.settle();
    state.user = undefined;
    health.set('x of v/a', 'Unhealthy');
    impairments.lookAtAll(new Set(['v/a']));
    await fake.settle();
    assert.equal(ledger.get('x')?.lease.state, 'impaired');
    for (const resolve of lists) resolve();
    await fake.settle();
    assert.equal(ledger.get('x')?.lease.state, 'impaired', 'the look of before had seen it healthy');
  });

  it('of one lease waits for a long list, too, and decodes none in its turn', async () => {
    const lists: (() => void)[] = [];
    let isAtHand = false;
    const { fake, ledger, health, impairments, seen } = world(0, {
      prepare: () => (isAtHand ? undefined : new Promise((resolve) => lists.push(() => resolve(undefined)))),
    });
    for (const { lease } of [...ledger.all()]) ledger.remove(lease.id);
    const entry = entryOf('x', ['v/a']);
    ledger.add(entry);
    health.set('x of v/a', 'Unhealthy');
    impairments.look(entry);
    await fake.settle();
    assert.deepEqual([entry.lease.state, seen().offers], ['active', 0]);
    isAtHand = true;
    for (const resolve of lists) resolve();
    await fake.settle();
    assert.equal(entry.lease.state, 'impaired');
  });

  it('does not come again after a stop', async () => {
    const { fake, impairments, look, seen } = world();
    look();
    await fake.settle();
    look();
    impairments.stop();
    await fake.advance(10_000);
    assert.deepEqual([seen().offers, fake.pending], [8, 0]);
  });
});
