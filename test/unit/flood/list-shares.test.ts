import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BURST_BYTES, ListShares, SHARE_BYTES_PER_S, WHOLE_SHARES } from '../../../src/flood/list-shares.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FloodWorld, openPacer, policySource, processOf } from '../../support/flood-world.js';
import { RecordedEvents } from '../../support/recorders.js';

const MIB = 1024 * 1024;

function sharesOf(processorShare = 1): { clock: FakeClock; shares: ListShares; events: RecordedEvents } {
  const [clock, events] = [new FakeClock(), new RecordedEvents()];
  const facts = { ownUid: 1_000, userOf: (uid: number) => uid, processorShare };
  return { clock, events, shares: new ListShares({ clock, events, ...facts }) };
}

describe('the share of lists of one user', () => {
  it('is a burst and then so many bytes a second, however many plugins it has', async () => {
    const { clock, shares } = sharesOf();
    let [taken, waited] = [0, 0];
    for (let list = 0; list < 400; list += 1) {
      const ms = shares.book(4001, MIB).waitMs;
      waited += ms;
      await clock.advance(ms);
      taken += MIB;
    }
    const seconds = waited / 1_000;
    assert.ok(taken <= BURST_BYTES + seconds * SHARE_BYTES_PER_S, `${String(taken)} in ${String(seconds)} s`);
    assert.ok(taken >= 0.95 * (BURST_BYTES + seconds * SHARE_BYTES_PER_S));
  });

  it('is of nobody else: another user, root and the user of the broker do not wait', () => {
    const { shares } = sharesOf();
    while (shares.book(4001, MIB).waitMs === 0);
    assert.equal(shares.book(4002, MIB).waitMs, 0);
    for (const uid of [0, 1_000])
      for (let list = 0; list < 100; list += 1) assert.equal(shares.book(uid, MIB).waitMs, 0);
  });

  it('is less where more than a few users send lists, so that all of them have a bound together', async () => {
    const { clock, shares } = sharesOf();
    const users = Array.from({ length: 8 }, (_, index) => 4001 + index);
    const next = new Map(users.map((uid) => [uid, 0]));
    const taken = new Map<number, number>();
    for (let second = 0; second < 120; second += 0.1) {
      // The burst is gone after a minute.
      if (second < 60) taken.clear();
      for (const uid of users) {
        if ((next.get(uid) ?? 0) > clock.mono()) continue;
        next.set(uid, clock.mono() + shares.book(uid, MIB).waitMs);
        taken.set(uid, (taken.get(uid) ?? 0) + MIB);
      }
      await clock.advance(100);
    }
    const all = [...taken.values()].reduce((sum, one) => sum + one, 0) / 60;
    const most = WHOLE_SHARES * SHARE_BYTES_PER_S;
    assert.ok(all <= 1.1 * most && all >= 0.8 * most, `${String(all / MIB)} MiB a second`);
    for (const one of taken.values()) assert.ok(one / 60 > (0.8 * most) / 8 && one / 60 < (1.2 * most) / 8);
    await clock.advance(60_000);
    let alone = 0;
    while (shares.book(4001, MIB).waitMs === 0) alone += MIB;
    assert.equal(alone, Math.floor(BURST_BYTES / (MIB + 4096)) * MIB, 'one that is alone again has its share');
  });

  it('is so much of it as the broker has of a processor, and is told so', async () => {
    const { clock, shares, events } = sharesOf(0.2);
    let free = 0;
    while (shares.book(4001, 0).waitMs === 0) free += 1;
    assert.equal(free, Math.floor((0.2 * BURST_BYTES) / 4_096));
    await clock.advance(1_000);
    assert.ok(Math.abs(shares.book(4001, 0.2 * SHARE_BYTES_PER_S).waitMs - 5) < 6);
    assert.match(events.all[0]?.message ?? '', /their share, at most 0\.8 MiB a second/);
  });

  it('counts lists without a byte, too', () => {
    const { shares } = sharesOf();
    let free = 0;
    while (shares.book(4001, 0).waitMs === 0) free += 1;
    assert.equal(free, BURST_BYTES / 4_096);
  });

  it('comes back with time, and is never more than the burst', async () => {
    const { clock, shares } = sharesOf();
    await clock.advance(3_600_000);
    let free = 0;
    while (shares.book(4001, MIB).waitMs === 0) free += 1;
    await clock.advance(3_600_000);
    let again = 0;
    while (shares.book(4001, MIB).waitMs === 0) again += 1;
    assert.equal(again, free);
  });

  it('that was used up is told once a minute at most, with the user', async () => {
    const { clock, shares, events } = sharesOf();
    for (let second = 0; second < 50; second += 1) {
      shares.book(4001, 20 * MIB);
      await clock.advance(1_000);
    }
    assert.deepEqual(events.messages('flood'), [
      'plugins of uid 4001 send more bytes of lists than their share, at most 4 MiB a second; their lists wait for it, and only the newest of each plugin is taken',
    ]);
    await clock.advance(600_000);
    while (shares.book(4001, MIB).waitMs === 0);
    assert.equal(events.messages('flood').length, 2);
  });
});

describe('a session of a user whose share is used up', () => {
  it('waits, is shown as slowed, and costs nothing when it ends instead', async () => {
    const world = new FloodWorld();
    const [first, second] = [1, 2].map((pid) => openPacer(world, policySource(), processOf(pid, 4001)));
    assert.ok(first !== undefined && second !== undefined);
    const halt = new AbortController();
    await first.room(BURST_BYTES - 8_192, halt.signal);
    const waiting = assert.rejects(first.room(400 * MIB, halt.signal), /closed/);
    assert.deepEqual([first.slowing, second.slowing], ['coalesce', '']);
    halt.abort(new Error('closed'));
    await waiting;
    await second.room(0, new AbortController().signal);
    assert.deepEqual([first.slowing, second.slowing], ['', '']);
  });

  it('goes on when its time has come', async () => {
    const world = new FloodWorld();
    const pacer = openPacer(world, policySource(), processOf(1, 4001));
    pacer.spend(BURST_BYTES);
    let isThere = false;
    const coming = pacer.room(SHARE_BYTES_PER_S, new AbortController().signal).then(() => (isThere = true));
    await world.clock.advance(1_000);
    assert.equal(isThere, false);
    await world.clock.advance(10);
    await coming;
    assert.equal(pacer.slowing, '');
  });
});
