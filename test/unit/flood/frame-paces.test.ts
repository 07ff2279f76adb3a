import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FramePaces } from '../../../src/flood/frame-paces.js';

class World {
  isEnforced = true;
  readonly paces: FramePaces;
  #now = 0;

  constructor() {
    this.paces = new FramePaces({
      now: () => this.#now,
      ownUid: 0,
      userOf: (uid) => uid,
      isEnforced: () => this.isEnforced,
    });
  }

  pass(ms: number): void {
    this.#now += ms;
  }
}

describe('the paces of frames and reads that no call earned', () => {
  it('are shared by the connections of a process, and by all of an ordinary user, those to its plugins too', () => {
    const { paces } = new World();
    assert.equal(paces.of(4001, 'one')?.(4_000), 0);
    assert.equal(paces.of(4001, 'one')?.(100), 100);
    assert.equal(paces.of(4001, 'two')?.(3_900), 0);
    assert.equal(paces.of(4001, 'three')?.(100), 50);
    assert.equal(paces.of(4001)?.(100), 100);
    assert.equal(paces.of(4002, 'four')?.(100), 0);
    assert.equal(paces.of(0, 'five'), undefined);
    assert.equal(paces.of(undefined), undefined);
  });

  it('are earned back with time, and hold a connection for 5 s at most', () => {
    const world = new World();
    const frames = world.paces.of(4001, 'one');
    assert.ok(frames !== undefined);
    assert.equal(frames(100_000), 5_000);
    world.pass(5_000);
    assert.equal(frames(1), 1);
  });

  it('hold nobody whose thousand connections are kept alive every ten seconds', () => {
    const world = new World();
    const frames = world.paces.of(4001, 'one');
    for (let round = 0; round < 10; round++) {
      // A PING, and the read that brings it, which counts as three.
      for (let connection = 0; connection < 1_000; connection++) assert.equal(frames?.(4), 0);
      world.pass(10_000);
    }
  });

  it('hold nobody while the policy only observes', () => {
    const world = new World();
    const frames = world.paces.of(4001, 'one');
    world.isEnforced = false;
    assert.equal(frames?.(1_000_000), 0);
    world.isEnforced = true;
    assert.equal(frames(4_001), 1);
  });
});
