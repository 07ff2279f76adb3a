import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReadPaces } from '../../../src/flood/read-paces.js';

class World {
  isEnforced = true;
  readonly paces: ReadPaces;
  #now = 0;
  #endTurn: () => void = () => undefined;

  constructor() {
    this.paces = new ReadPaces({
      now: () => this.#now,
      ownUid: 0,
      userOf: (uid) => uid,
      isEnforced: () => this.isEnforced,
      nextTurn: () => new Promise((resolve) => (this.#endTurn = resolve)),
    });
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** The event loop goes round. */
  async turn(): Promise<void> {
    this.#endTurn();
    await Promise.resolve();
  }
}

describe('the paces of frames and reads that no call earned', () => {
  it('are shared by the connections of a process, and by all of an ordinary user, those to its plugins too', () => {
    const { paces } = new World();
    assert.equal(paces.of(4001, 'one')?.unearned(4_000), 0);
    assert.equal(paces.of(4001, 'one')?.unearned(100), 100);
    assert.equal(paces.of(4001, 'two')?.unearned(3_900), 0);
    assert.equal(paces.of(4001, 'three')?.unearned(100), 50);
    assert.equal(paces.of(4001)?.unearned(100), 100);
    assert.equal(paces.of(4002, 'four')?.unearned(100), 0);
    assert.equal(paces.of(0, 'five'), undefined);
    assert.equal(paces.of(undefined), undefined);
  });

  it('are earned back with time, and hold a connection for 5 s at most', () => {
    const world = new World();
    const pace = world.paces.of(4001, 'one');
    assert.ok(pace !== undefined);
    assert.equal(pace.unearned(100_000), 5_000);
    world.pass(5_000);
    assert.equal(pace.unearned(1), 1);
  });

  it('hold nobody whose thousand connections are kept alive every ten seconds', () => {
    const world = new World();
    const pace = world.paces.of(4001, 'one');
    for (let round = 0; round < 10; round++) {
      // A PING, and the read that brings it, which counts as three.
      for (let connection = 0; connection < 1_000; connection++) assert.equal(pace?.unearned(4), 0);
      world.pass(10_000);
    }
  });

  it('hold nobody while the policy only observes', () => {
    const world = new World();
    const pace = world.paces.of(4001, 'one');
    world.isEnforced = false;
    assert.equal(pace?.unearned(1_000_000), 0);
    world.isEnforced = true;
    assert.equal(pace.unearned(4_001), 1);
  });
});

describe('the turns of what ordinary users send', () => {
  /** Reads of connections, all at one moment; returns which of them were taken up at once. */
  const reads = (
    world: World,
    taken: string[],
    ...connections: readonly (readonly [uid: number, name: string])[]
  ): string[] =>
    connections
      .filter(([uid, name]) => world.paces.of(uid)?.takeUp(64 * 1024, () => taken.push(name)) === true)
      .map(([, name]) => name);

  it('are one in each turn of the event loop, of one user after the other', async () => {
    const world = new World();
    const later: string[] = [];
    assert.deepEqual(
      reads(world, later, [4001, 'a'], [4001, 'b'], [4001, 'c'], [4001, 'd'], [4002, 'e'], [4002, 'f']),
      ['a'],
    );
    const seen: string[] = [];
    for (let turns = 0; turns < 5; turns++) {
      await world.turn();
      seen.push(later.join(''));
    }
    assert.deepEqual(seen, ['b', 'be', 'bec', 'becf', 'becfd']);
    assert.deepEqual(reads(world, later, [4003, 'g'], [4003, 'h']), [], 'the turn has its read');
    await world.turn();
    await world.turn();
    await world.turn();
    assert.deepEqual(later.join(''), 'becfdgh');
    assert.deepEqual(reads(world, later, [4003, 'i']), ['i'], 'a turn in which nothing waits');
  });

  it('are not needed by root, nor while the policy only observes', () => {
    const world = new World();
    world.isEnforced = false;
    assert.deepEqual(reads(world, [], [4001, 'a'], [4001, 'b']), ['a', 'b']);
    assert.equal(world.paces.of(0), undefined);
  });

  it('keep at most 16 MiB in memory: of more, reads are taken up as they come', () => {
    const world = new World();
    const all = Array.from({ length: 1 + 256 + 3 }, (_, index) => [4001, String(index)] as const);
    assert.deepEqual(reads(world, [], ...all), ['0', '257', '258', '259']);
  });
});

describe('octets of requests that are not complete', () => {
  it('are 8 MiB of one ordinary user at most, over all its connections, before those that keep much end', () => {
    const world = new World();
    const [one, two, other] = [world.paces.of(4001, 'one'), world.paces.of(4001, 'two'), world.paces.of(4002)];
    assert.equal(one?.keep(8 * 1024 * 1024), false);
    assert.equal(two?.keep(1), true);
    assert.equal(other?.keep(1), false);
    assert.equal(one.keep(-1), false);
    assert.equal(two.keep(1), true);
    assert.equal(one.keep(1 - 8 * 1024 * 1024), false);
    assert.equal(two.keep(-2), false);
    assert.equal(two.keep(8 * 1024 * 1024), false, 'none was left');
  });

  it('are counted, and end nothing, while the policy only observes', () => {
    const world = new World();
    world.isEnforced = false;
    assert.equal(world.paces.of(4001)?.keep(9 * 1024 * 1024), false);
    world.isEnforced = true;
    assert.equal(world.paces.of(4001)?.keep(0), true);
  });
});
