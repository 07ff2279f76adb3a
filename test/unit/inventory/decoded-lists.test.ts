import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecodedLists } from '../../../src/inventory/decoded-lists.js';
import type { Device } from '../../../src/model/device.js';
import { FakeClock } from '../../support/fake-clock.js';

const LONG = 65 * 1024;

function bed() {
  const clock = new FakeClock();
  const decoded: string[] = [];
  const read = (raw: Buffer): readonly Device[] => {
    if (raw.toString('utf8', 0, 2) === '!!') throw new Error('cannot be read');
    decoded.push(raw.toString('utf8', 0, 2));
    return [{ id: raw.toString('utf8', 0, 2), health: 'Healthy', numaNodes: [] }];
  };
  const lists = new DecodedLists({
    decode: read,
    decodeInTurns: async (raw) => {
      await new Promise<void>((resolve) => void clock.alarm(10, resolve));
      return read(raw);
    },
    clock,
  });
  return { clock, decoded, lists };
}

const list = (name: string, bytes = LONG): Buffer => Buffer.from(name.padEnd(bytes, ' '));

describe('decoded lists', () => {
  it('are made at once where they are short, and kept', () => {
    const { lists, decoded } = bed();
    const raw = list('s1', 100);
    assert.equal(lists.prepare('v/s', raw), undefined);
    assert.equal(lists.of('v/s', raw), lists.of('v/s', raw));
    assert.deepEqual(decoded, ['s1']);
  });

  it('that cannot be made keep no other one from being made', async () => {
    const { lists, decoded, clock } = bed();
    const [bad, good] = [list('!!'), list('l1')];
    const both = [lists.prepare('v/bad', bad) as Promise<void>, lists.prepare('v/good', good) as Promise<void>];
    await clock.advance(200);
    await Promise.all(both);
    assert.throws(() => lists.of('v/bad', bad), /cannot be read/);
    assert.deepEqual(decoded, ['l1']);
  });

  it('are made one after the other where they are long, with a rest of three times as long', async () => {
    const { lists, decoded, clock } = bed();
    const [one, two] = [list('l1'), list('l2')];
    const both = [lists.prepare('v/1', one) as Promise<void>, lists.prepare('v/2', two) as Promise<void>];
    await clock.advance(10);
    assert.deepEqual(decoded, ['l1']);
    await clock.advance(29);
    assert.deepEqual(decoded, ['l1']);
    await clock.advance(11);
    await Promise.all(both);
    assert.deepEqual(decoded, ['l1', 'l2']);
    for (const [name, raw] of [
      ['v/1', one],
      ['v/2', two],
    ] as const) {
      assert.equal(lists.prepare(name, raw), undefined);
      lists.of(name, raw);
    }
    assert.deepEqual(decoded, ['l1', 'l2']);
  });

  it('wait five seconds at most for one during which the process was stopped', async () => {
    const { lists, decoded, clock } = bed();
    void lists.prepare('v/1', list('l1'));
    void lists.prepare('v/2', list('l2'));
    await clock.settle();
    clock.pass(600_000);
    await clock.advance(0);
    assert.deepEqual(decoded, ['l1']);
    await clock.advance(5_010);
    assert.deepEqual(decoded, ['l1', 'l2']);
  });

  it('of which a newer one came are not made', async () => {
    const { lists, decoded, clock } = bed();
    const all = ['l1', 'l2', 'l3'].map((name) => lists.prepare('v/1', list(name)) as Promise<void>);
    await clock.advance(200);
    await Promise.all(all);
    assert.deepEqual(decoded, ['l3']);
  });

  it('stand for newer ones that are long and not at hand yet', async () => {
    const { lists, decoded, clock } = bed();
    const [before, after, short] = [list('l1'), list('l2'), list('s1', 100)];
    const ids = (raw: Buffer): string[] => lists.of('v/1', raw).map(({ id }) => id);
    assert.deepEqual(ids(before), ['l1']);
    assert.deepEqual(ids(after), ['l1']);
    const ready = lists.prepare('v/1', after);
    await clock.advance(10);
    await ready;
    assert.deepEqual(ids(after), ['l2']);
    assert.deepEqual(ids(short), ['s1']);
    assert.deepEqual(decoded, ['l1', 'l2', 's1']);
  });

  it('are forgotten when nobody asks for them, if they are long', async () => {
    const { lists, decoded, clock } = bed();
    const [long, short] = [list('l1'), list('s1', 100)];
    lists.of('v/1', long);
    lists.of('v/s', short);
    await clock.advance(61_000);
    lists.of('v/1', long);
    lists.of('v/s', short);
    assert.deepEqual(decoded, ['l1', 's1', 'l1']);
  });

  it('are read in turns and in a tenth of the time, once for all readers, and a waiting one keeps its turn when a newer one comes', async () => {
    const { lists, decoded, clock } = bed();
    const names = (made: readonly (readonly Device[])[]): string[] => made.map(([device]) => device?.id ?? '');
    const first = [lists.read('v/1', list('l1')), lists.read('v/2', list('l2'))];
    // Another list of the same resource each time, as of a plugin that never rests.
    const later = ['l3', 'l4', 'l5'].map((name) => lists.read('v/1', list(name)));
    assert.deepEqual(decoded, [], 'nobody makes a long one while others wait');
    await clock.advance(10);
    assert.deepEqual(decoded, ['l5']);
    await clock.advance(100);
    assert.deepEqual(names(await Promise.all([...first, ...later])), ['l5', 'l2', 'l5', 'l5', 'l5']);
    assert.deepEqual(names([await lists.read('v/s', list('s1', 100))]), ['s1']);
    await assert.rejects(() => {
      const bad = lists.read('v/bad', list('!!'));
      void clock.advance(110);
      return bad;
    }, /cannot be read/);
    assert.deepEqual(decoded, ['l5', 'l2', 's1']);
  });

  it('of ordinary users take turns in a tenth of the time, and those of root wait for none of them', async () => {
    const { lists, decoded, clock } = bed();
    for (let nth = 0; nth < 20; nth += 1) void lists.prepare(`v/a${String(nth)}`, list('a1'), 4001);
    void lists.prepare('v/b', list('b1'), 4002);
    void lists.prepare('v/root', list('r1'));
    await clock.advance(10);
    assert.deepEqual(decoded, ['a1', 'r1']);
    await clock.advance(99);
    assert.deepEqual(decoded, ['a1', 'r1']);
    await clock.advance(1);
    assert.deepEqual(decoded, ['a1', 'r1', 'b1']);
    await clock.advance(19 * 100);
    assert.equal(decoded.length, 22);
  });

  it('of one ordinary user have a quarter of the room, and push out no list of root', () => {
    const { lists, decoded } = bed();
    const kept = (name: string, sender?: number): boolean => {
      const { length } = decoded;
      lists.of(`v/${name}`, all.get(name) ?? Buffer.alloc(0), sender);
      return decoded.length === length;
    };
    const all = new Map<string, Buffer>();
    const make = (name: string, sender?: number): void => {
      all.set(name, list(name, 100));
      lists.of(`v/${name}`, all.get(name) ?? Buffer.alloc(0), sender);
    };
    for (let nth = 0; nth < 24; nth += 1) make(`r${String(nth)}`);
    for (let nth = 0; nth < 9; nth += 1) make(`a${String(nth)}`, 4001);
    assert.deepEqual([kept('a1', 4001), kept('a8', 4001), kept('r0')], [true, true, true]);
    for (let nth = 0; nth < 8; nth += 1) make(`b${String(nth)}`, 4002);
    assert.ok(Array.from({ length: 24 }, (_, nth) => `r${String(nth)}`).every((name) => kept(name)));
    assert.equal(kept('a8', 4001), true);
    for (let nth = 0; nth < 40; nth += 1) make(`r${String(nth)}`);
    assert.equal(kept('r0'), false, 'root has a bound, too');
    assert.equal(kept('b7', 4002), true, 'and pushes out nobody');
  });
});
