import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entryOf, Ledger, type Entry } from '../../../src/allocation/ledger.js';
import { lease } from '../../support/leases.js';
import { seededRandom } from '../../support/seeded-random.js';

const RESOURCES = ['v/r0', 'v/r1'];

function entry(id: string, devices: Readonly<Record<string, readonly string[]>>, uid = 4001): Entry {
  return entryOf({ ...lease({ id, devices }), uid, key: id });
}

/** The devices of a resource that leases have, each with its holders, from the leases alone. */
function holdersOf(entries: Iterable<Entry>, resource: string): Map<string, Entry[]> {
  const holders = new Map<string, Entry[]>();
  for (const one of entries) {
    const ids = one.lease.granted.flatMap((granted) => (granted.resource === resource ? granted.devices : []));
    for (const { id } of ids) holders.set(id, [...(holders.get(id) ?? []), one]);
  }
  return holders;
}

describe('the ledger', () => {
  it('counts leases by uid as they come and go', () => {
    const ledger = new Ledger();
    const entries = ['a', 'b', 'c'].map((id) => entry(id, {}));
    for (const one of entries) ledger.add(one);
    for (const one of entries) ledger.add(one);
    ledger.remove('a');
    ledger.remove('a');
    assert.deepEqual([...ledger.countsOfUids()], [[4001, 2]]);
    ledger.remove('b');
    ledger.remove('c');
    assert.deepEqual([...ledger.countsOfUids()], []);
  });

  it('knows who has a device as its leases say, whatever comes, goes and is exchanged', () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = seededRandom(seed);
      const pick = (most: number): number => Math.floor(random.next() * most);
      const some = (): string[] => Array.from({ length: 1 + pick(3) }, () => `d${String(pick(12))}`);
      const ledger = new Ledger();
      const model = new Map<string, Entry>();
      for (let step = 0; step < 120; step += 1) {
        const [first = ''] = [...model.keys()].slice(pick(model.size));
        const known = model.get(first);
        const what = pick(4);
        if (what === 0 && known !== undefined) {
          assert.equal(ledger.remove(first), true);
          model.delete(first);
        } else if (what === 1 && known !== undefined) {
          const resource = RESOURCES[pick(2)] ?? '';
          const wanted = [...new Set(some())].map((id) => ({ id, numaNodes: [] }));
          const before = holdersOf(model.values(), resource);
          // A mark is chosen from free devices: it shares none.
          if ([...before.values()].some((all) => all.length > 1 && all.includes(known))) continue;
          const isFree = wanted.every(({ id }) => (before.get(id) ?? []).every((one) => one === known));
          assert.equal(ledger.exchange(known, { resource, devices: wanted }), isFree, `seed ${String(seed)}`);
        } else {
          // One in four with devices that others may have: a checkpoint can say so.
          const free = (resource: string): string[] =>
            some().filter((id) => what === 2 || !holdersOf(model.values(), resource).has(id));
          const one = entry(`${String(seed)}-${String(step)}`, { 'v/r0': free('v/r0'), 'v/r1': free('v/r1') }, pick(3));
          ledger.add(one);
          model.set(one.lease.id, one);
        }
        for (const resource of RESOURCES) {
          const holders = holdersOf(model.values(), resource);
          const taken = ledger.takenOf(resource);
          assert.deepEqual(
            new Set(taken.keys()),
            new Set(holders.keys()),
            `seed ${String(seed)}, step ${String(step)}`,
          );
          for (const [id, holder] of taken) assert.equal(holders.get(id)?.includes(holder), true);
          assert.equal(ledger.hasSome(resource), holders.size > 0);
        }
      }
    }
  });

  it('adds up the bytes of its leases, each weighed once, and of none that has left', () => {
    const ledger = new Ledger();
    const [first, second, mark] = [entry('a', {}), entry('b', {}), entry('m', {})];
    for (const one of [first, second, mark]) ledger.add(one);
    const asked: string[] = [];
    const bytesOf = ({ id }: { readonly id: string }): number | undefined => {
      asked.push(id);
      return id === 'm' ? undefined : 10;
    };
    assert.deepEqual([ledger.bytes(bytesOf), ledger.bytes(bytesOf), asked], [20, 20, ['a', 'b', 'm', 'm']]);
    ledger.weigh(mark, 5);
    ledger.weigh(first, 12);
    assert.equal(ledger.bytes(bytesOf), 27);
    ledger.remove('a');
    ledger.weigh(first, 12);
    assert.deepEqual([ledger.bytes(bytesOf), asked.length], [15, 4]);
  });
});
