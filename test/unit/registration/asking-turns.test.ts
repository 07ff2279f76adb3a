import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { AskingTurns } from '../../../src/registration/asking-turns.js';
import { FakeClock } from '../../support/fake-clock.js';

const OWN_UID = 77;
const LONGER_MS = 400;

describe('turns of registration sockets', () => {
  let clock: FakeClock;
  let halt: AbortController;
  let turns: AskingTurns;
  /** The turns that were got, in order. */
  let taken: ((inVain: boolean) => void)[];
  const ask = async (uid: number, count: number): Promise<void> => {
    for (let nth = 0; nth < count; nth += 1) {
      turns.take(uid, halt.signal).then(
        (leave) => taken.push(leave),
        () => undefined,
      );
    }
    await new Promise(setImmediate);
  };
  beforeEach(() => {
    clock = new FakeClock();
    halt = new AbortController();
    turns = new AskingTurns(clock, OWN_UID);
    taken = [];
  });
  afterEach(() => halt.abort(new Error('the test is over')));

  it('are shared by the owner that discovery names', async () => {
    await ask(4001, 40);
    assert.equal(taken.length, 16);
    assert.ok(turns.isCrowded(4001) && !turns.isCrowded(4002));
    await ask(4002, 1);
    assert.equal(taken.length, 17);
  });

  it('are taken for 400 ms longer when they were in vain', async () => {
    await ask(4001, 17);
    assert.equal(taken.length, 16);
    taken[0]?.(true);
    await clock.advance(LONGER_MS - 1);
    assert.equal(taken.length, 16);
    await clock.advance(1);
    assert.equal(taken.length, 17);
    assert.equal(clock.pending, 0);
  });

  it('are free at once when they were not', async () => {
    await ask(4001, 17);
    taken[0]?.(false);
    await new Promise(setImmediate);
    assert.equal(taken.length, 17);
  });

  it('are 64 of all ordinary users together', async () => {
    for (const uid of [4001, 4002, 4003, 4004, 4005]) await ask(uid, 16);
    assert.equal(taken.length, 64);
    assert.ok(turns.isCrowded(4005));
    taken[0]?.(false);
    await new Promise(setImmediate);
    assert.equal(taken.length, 65);
  });

  for (const [whose, uid] of [
    ['root', 0],
    ["the broker's user", OWN_UID],
  ] as const) {
    it(`are 256 of ${whose} beside those of others, and free at once even in vain`, async () => {
      for (const other of [4001, 4002, 4003, 4004]) await ask(other, 16);
      const others = taken.length;
      await ask(uid, 257);
      assert.equal(taken.length, others + 256);
      taken[others]?.(true);
      await new Promise(setImmediate);
      assert.equal(taken.length, others + 257);
      assert.equal(clock.pending, 0);
    });
  }
});
