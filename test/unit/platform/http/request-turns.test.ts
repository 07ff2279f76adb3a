import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HttpPeer } from '../../../../src/platform/http/http-peer.js';
import { RequestTurns } from '../../../../src/platform/http/request-turns.js';
import { FakeClock } from '../../../support/fake-clock.js';

const ROOT: HttpPeer = { name: 'user 0', sharer: undefined };
const user = (uid: number): HttpPeer => ({ name: `user ${String(uid)}`, sharer: uid });
const elsewhere = (address: string): HttpPeer => ({ name: address, sharer: 'unknown' });

function bed() {
  const clock = new FakeClock();
  const turns = new RequestTurns(clock);
  /** The peers whose turns came, in their order. */
  const came: string[] = [];
  const failed: unknown[] = [];
  const ask = (peer: HttpPeer, times = 1): AbortController => {
    const caller = new AbortController();
    for (let nth = 0; nth < times; nth += 1) {
      turns.take(peer, caller.signal).then(
        () => came.push(peer.name),
        (failure: unknown) => failed.push(failure),
      );
    }
    return caller;
  };
  /** How many came in the next so many milliseconds, by peer. */
  const within = async (ms: number): Promise<Readonly<Record<string, number>>> => {
    came.length = 0;
    await clock.advance(ms);
    await clock.settle();
    const counts: Record<string, number> = {};
    for (const name of came) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  return { clock, came, failed, ask, within };
}

void describe('the turns of requests', () => {
  void it('are a quarter for one user: twenty at once and ten a second, and a pause gives them back', async () => {
    const { ask, within } = bed();
    ask(user(4001), 40);
    assert.deepEqual(await within(0), { 'user 4001': 20 });
    assert.deepEqual(await within(1000), { 'user 4001': 10 });
    assert.deepEqual(await within(1000), { 'user 4001': 10 });
    await within(10_000);
    ask(user(4001), 40);
    assert.deepEqual(await within(0), { 'user 4001': 20 });
  });

  void it('are three quarters for all ordinary users, so that root never waits for them', async () => {
    const { ask, within } = bed();
    for (let uid = 1001; uid <= 1010; uid += 1) ask(user(uid), 100);
    const first = await within(0);
    assert.equal(
      Object.values(first).reduce((sum, count) => sum + count),
      60,
    );
    for (let second = 0; second < 20; second += 1) {
      ask(ROOT, 10);
      assert.equal((await within(0))['user 0'], 10, `second ${String(second)}`);
      const turns = Object.values(await within(1000)).reduce((sum, count) => sum + count);
      assert.ok(turns > 25 && turns <= 30, `${String(turns)} of the others`);
    }
  });

  void it('go round between users that wait, however many requests each of them has', async () => {
    const { came, ask, within } = bed();
    for (const uid of [1001, 1002, 1003, 1004]) ask(user(uid), 100);
    await within(1000);
    ask(user(4002));
    await within(200);
    assert.equal(came.filter((name) => name === 'user 4002').length, 1);
    const counts = await within(4000);
    const those = [1001, 1002, 1003, 1004].map((uid) => counts[`user ${String(uid)}`] ?? 0);
    assert.ok(Math.max(...those) - Math.min(...those) <= 1, String(those));
  });

  void it('are one share for all addresses elsewhere, which go round between them', async () => {
    const { ask, within } = bed();
    for (const address of ['192.0.2.1', '192.0.2.2']) ask(elsewhere(address), 30);
    const first = Object.values(await within(0));
    assert.equal(
      first.reduce((sum, count) => sum + count),
      20,
    );
    assert.deepEqual(await within(1000), { '192.0.2.1': 5, '192.0.2.2': 5 });
  });

  void it('are half of all for root, whose requests leave turns for others', async () => {
    const { ask, within } = bed();
    ask(ROOT, 100);
    assert.deepEqual(await within(0), { 'user 0': 40 });
    assert.deepEqual(await within(1000), { 'user 0': 20 });
    ask(user(4001));
    assert.deepEqual(await within(0), { 'user 4001': 1 });
  });

  void it('are eighty at once and forty a second of all, however many peers there are', async () => {
    const { clock, came, ask } = bed();
    for (let peer = 0; peer < 300; peer += 1) ask({ name: `10.0.0.${String(peer)}`, sharer: undefined });
    await clock.advance(0);
    assert.equal(came.length, 80);
    await clock.advance(1000);
    assert.equal(came.length, 120);
  });

  void it('are not taken by those who leave before them, and none is left of those who have left', async () => {
    const { clock, failed, ask, within } = bed();
    ask(user(4001), 20);
    for (let nth = 0; nth < 500; nth += 1) ask(user(4001)).abort(new Error('it left'));
    const last = ask(user(4001));
    assert.deepEqual(await within(0), { 'user 4001': 20 });
    assert.equal(failed.length, 500);
    assert.deepEqual(await within(100), { 'user 4001': 1 });
    last.abort();
    ask(user(4001)).abort();
    await clock.settle();
    assert.equal(clock.pending, 0);
    assert.equal(failed.length, 501);
  });
});
