import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GRPC_STATUS, Refused } from '../../../src/model/reasons.js';
import { FakeFailure } from '../../support/fake-connection.js';
import { eventually } from '../../support/eventually.js';
import { leftIn } from '../../support/left-in-signal.js';
import { ID, list, SessionBed } from '../../support/session-bed.js';
import { usedBytes } from '../../support/used-memory.js';

const SILENT = new FakeFailure(GRPC_STATUS.DEADLINE_EXCEEDED, 'no answer within 10000 ms', 'no-answer');

describe('a session that watches', () => {
  it('serves with its first list, and says so once', async () => {
    const bed = await SessionBed.registered();
    assert.deepEqual(bed.served, 0);
    bed.stream.push(list(2));
    bed.stream.push(list(3));
    await bed.clock.settle();
    assert.equal(bed.served, 1);
    assert.equal(bed.reported(), 'ready registered');
    assert.equal(bed.offers.at(-1)?.length, list(3).length);
  });

  it('counts what it took and what it coalesced', async () => {
    const bed = await SessionBed.registered();
    for (let at = 0; at < 4; at += 1) bed.stream.push(list(at + 1));
    await bed.clock.settle();
    assert.deepEqual(Object.fromEntries(bed.counted), { updates: 4, coalesced: 3 });
    assert.equal(bed.offers.length, 1, 'only the newest is looked at');
  });

  it('says which list was refused and goes on, and takes it back with the next good one', async () => {
    const bed = await SessionBed.registered();
    bed.verdict = { kind: 'refused', sentence: 'the list has 300000 devices' };
    bed.stream.push(list(1));
    await bed.clock.settle();
    assert.equal(bed.reported(), 'ready list-refused');
    assert.equal(bed.served, 0, 'a plugin without a list takes nothing over');
    bed.verdict = undefined;
    bed.stream.push(list(1));
    await bed.clock.settle();
    assert.equal(bed.reported(), 'ready registered');
  });

  for (const [what, end, state] of [
    ['is closed in order', { status: GRPC_STATUS.OK, details: '' }, 'held reopening'],
    [
      'loses its connection',
      { status: GRPC_STATUS.UNAVAILABLE, details: 'closed', fault: 'unreachable' },
      'held connection-lost',
    ],
    ['fails', { status: GRPC_STATUS.INTERNAL, details: 'oops' }, 'held stream-failed'],
    [
      'fails in the words of a lost connection',
      { status: GRPC_STATUS.UNAVAILABLE, details: 'closed' },
      'held stream-failed',
    ],
    [
      'sends more than a message may have',
      {
        status: GRPC_STATUS.RESOURCE_EXHAUSTED,
        details: 'Received message larger than max (9 vs 4)',
        fault: 'too-large',
      },
      'held stream-failed LIST_TOO_LARGE',
    ],
    [
      'fails because its own server may not send so much',
      { status: GRPC_STATUS.RESOURCE_EXHAUSTED, details: 'grpc: trying to send message larger than max (9 vs. 4)' },
      'held stream-failed',
    ],
  ] as const) {
    it(`whose stream ${what} is ${state}, and over`, async () => {
      const bed = await SessionBed.registered();
      bed.stream.push(list(2));
      await bed.clock.settle();
      bed.stream.finish(end);
      await bed.clock.settle();
      const code = bed.reports.at(-1)?.message.startsWith('LIST_TOO_LARGE') === true ? ' LIST_TOO_LARGE' : '';
      assert.equal(`${bed.reported()}${code}`, state);
      assert.equal(bed.connection.isClosed, true);
      assert.equal(bed.clock.pending, 0);
    });
  }

  it('keeps no bytes of a refused list while it waits for the next one', async () => {
    const bed = await SessionBed.registered();
    bed.verdict = { kind: 'refused', sentence: 'there is no room for it' };
    const before = usedBytes();
    bed.stream.push(list(100_000));
    await bed.clock.settle();
    bed.offers.length = 0;
    assert.equal(bed.reported(), 'ready list-refused');
    // The memory of buffers is given back beside the program, a moment after they were collected.
    await eventually('its bytes are gone', () => usedBytes() - before < 1024 * 1024, { everyMs: 20 });
  });

  it('holds no list once it was taken, nor when it is over', async () => {
    const bed = await SessionBed.registered();
    for (const devices of [2, 3]) {
      bed.stream.push(list(devices));
      await bed.clock.settle();
    }
    assert.equal(bed.stream.dones, 2);
    await bed.handler.deregister(ID, 'replaced');
    assert.equal(bed.stream.isCancelled, true, 'which has done with everything');
  });

  it('takes an empty list and an end for a goodbye', async () => {
    const bed = await SessionBed.registered();
    bed.stream.push(list(2));
    await bed.clock.settle();
    bed.stream.push(list(0));
    await bed.clock.settle();
    bed.stream.finish({ status: GRPC_STATUS.OK, details: '' });
    await bed.clock.settle();
    assert.equal(bed.reported(), 'gone goodbye');
  });

  it('is closed for lists beyond the pace where the policy says so, after the last one was taken', async () => {
    const bed = await SessionBed.registered({ pacer: { permits: 1, onExceed: 'disconnect' } });
    bed.stream.push(list(1));
    await bed.clock.settle();
    bed.stream.push(list(2));
    await bed.clock.settle();
    assert.equal(bed.reported(), 'held update-flood');
    assert.equal(bed.offers.length, 2);
    assert.equal(bed.counted.get('disconnects'), 1);
  });

  it('once closed changes nothing any more, with any late message', async () => {
    const bed = await SessionBed.registered();
    bed.stream.push(list(2));
    await bed.clock.settle();
    const before = bed.reports.length;
    await bed.handler.deregister(ID, 'replaced');
    bed.stream.push(list(5));
    bed.stream.finish({ status: GRPC_STATUS.INTERNAL, details: 'late' });
    await bed.clock.advance(600_000);
    assert.equal(bed.reports.length, before);
    assert.equal(bed.offers.length, 1);
    assert.deepEqual([bed.stream.isCancelled, bed.connection.isClosed, bed.pacer.isClosed], [true, true, true]);
    assert.equal(bed.clock.pending, 0);
  });
});

describe('a plugin that hangs', () => {
  it('is found by a call after as many silent ones as the setting says, and taken back with the next answer', async () => {
    const bed = await SessionBed.registered();
    bed.stream.push(list(2));
    await bed.clock.settle();
    const { answer } = bed.connection;
    bed.connection.answer = () => Promise.reject(SILENT);
    const { intervalMs, failures } = bed.live.liveness;
    await bed.clock.advance(intervalMs * (failures - 1));
    assert.equal(bed.reported(), 'ready registered');
    await bed.clock.advance(intervalMs);
    assert.equal(bed.reported(), 'held not-answering');
    assert.equal(bed.connection.isClosed, false, 'it may wake up');
    bed.connection.answer = answer;
    await bed.clock.advance(intervalMs);
    assert.equal(bed.reported(), 'ready registered');
    await bed.handler.deregister(ID, 'replaced');
  });

  it('is asked at moments that all sessions share, once an interval or somewhat sooner', async () => {
    const bed = new SessionBed();
    await bed.clock.advance(37);
    await bed.register();
    const { answer } = bed.connection;
    const asked = [bed.clock.mono()];
    bed.connection.answer = (...question) => {
      asked.push(bed.clock.mono());
      return answer(...question);
    };
    const { intervalMs } = bed.live.liveness;
    await bed.clock.advance(20 * intervalMs);
    const [, ...moments] = asked;
    assert.ok(moments.length >= 20, String(moments.length));
    assert.deepEqual(new Set(moments.map((moment) => moment % (intervalMs / 20))), new Set([0]));
    const gaps = moments.map((moment, nth) => moment - (asked[nth] ?? 0));
    assert.ok(Math.max(...gaps) <= intervalMs && Math.min(...gaps) >= 0.7 * intervalMs, gaps.join(' '));
    assert.ok(new Set(gaps).size > 1, 'sessions that began together drift apart');
    await bed.handler.deregister(ID, 'replaced');
  });

  it('is not one whose silent calls are as many as the setting says, but not in a row', async () => {
    const bed = await SessionBed.registered();
    bed.stream.push(list(2));
    await bed.clock.settle();
    bed.live.liveness = { ...bed.live.liveness, failures: 3 };
    const { answer } = bed.connection;
    let asked = 0;
    bed.connection.answer = (...question) => {
      asked += 1;
      return asked % 3 === 0 ? answer(...question) : Promise.reject(SILENT);
    };
    await bed.clock.advance(bed.live.liveness.intervalMs * 12);
    assert.ok(asked >= 12, String(asked));
    assert.deepEqual(
      bed.reports.filter(({ state }) => state === 'held'),
      [],
    );
    await bed.handler.deregister(ID, 'replaced');
  });

  it('is asked as often as the setting says by now', async () => {
    const bed = await SessionBed.registered();
    bed.stream.push(list(2));
    await bed.clock.settle();
    const { intervalMs } = bed.live.liveness;
    const { answer } = bed.connection;
    let asked = 0;
    bed.connection.answer = (...question) => {
      asked += 1;
      return answer(...question);
    };
    bed.live.liveness = { ...bed.live.liveness, intervalMs: intervalMs * 100 };
    await bed.clock.advance(intervalMs * 10);
    assert.equal(asked, 1, 'the call that was due already, and none after it');
    await bed.handler.deregister(ID, 'replaced');
  });

  it('is not one that answers with an error', async () => {
    const bed = await SessionBed.registered();
    bed.connection.answer = () => Promise.reject(new FakeFailure(GRPC_STATUS.INTERNAL, 'no'));
    await bed.clock.advance(bed.live.liveness.intervalMs * 10);
    assert.equal(bed.reports.length, 0);
    await bed.handler.deregister(ID, 'replaced');
  });

  it('is back with a list, too', async () => {
    const bed = await SessionBed.registered();
    bed.stream.push(list(2));
    await bed.clock.settle();
    bed.connection.answer = () => Promise.reject(SILENT);
    await bed.clock.advance(bed.live.liveness.intervalMs * (bed.live.liveness.failures + 1));
    assert.equal(bed.reported(), 'held not-answering');
    bed.stream.push(list(3));
    await bed.clock.settle();
    assert.equal(bed.reported(), 'ready registered');
    await bed.handler.deregister(ID, 'replaced');
  });
});

describe('a plugin that is taken in', () => {
  it('is refused with what its failed call means, and nothing stays open', async () => {
    const bed = new SessionBed();
    bed.dialler.prepare = (connection) => (connection.answer = () => Promise.reject(SILENT));
    await assert.rejects(bed.register(), /failed to get device plugin options: no answer within/);
    assert.deepEqual([bed.connection.isClosed, bed.pacer.isClosed, bed.clock.pending], [true, true, 0]);
    assert.equal(bed.handler.openSessions, 0);
  });

  it('a second time on one incarnation is asked before the first session ends', async () => {
    const bed = await SessionBed.registered();
    const first = bed.connection;
    bed.dialler.prepare = (connection) => (connection.answer = () => Promise.reject(SILENT));
    await assert.rejects(bed.register());
    assert.equal(first.isClosed, false);
    bed.dialler.prepare = () => undefined;
    await bed.register();
    assert.equal(first.isClosed, true);
    assert.equal(bed.handler.openSessions, 1);
    await bed.handler.deregister(ID, 'replaced');
  });

  it('and closed while it is asked is closed at once', async () => {
    const bed = new SessionBed();
    bed.dialler.prepare = (connection) => {
      connection.answer = (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new FakeFailure(GRPC_STATUS.CANCELLED, 'given up')));
        });
    };
    const registering = bed.register();
    await bed.handler.deregister(ID, 'deregistered');
    await assert.rejects(registering);
    assert.deepEqual([bed.connection.isClosed, bed.handler.openSessions], [true, 0]);
  });

  it('again when nobody called may not bear a second stream: its rule says how', async () => {
    for (const [reattach, known, movable, reason, streams] of [
      ['stream', 2, true, undefined, 1],
      ['probe', 2, true, 'list-unwatched', 0],
      ['probe', undefined, true, 'recycled', 0],
      ['probe', undefined, false, 'list-unwatched', 0],
      ['recycle', 2, true, 'recycled', 0],
      ['recycle', 2, false, 'list-unwatched', 0],
    ] as const) {
      const bed = new SessionBed({ reattach, resumed: true, movable });
      bed.knownDevices = known;
      await bed.register();
      const what = `${reattach}, list ${String(known)}, ${movable ? 'movable' : 'not movable'}`;
      assert.equal(bed.reports.at(-1)?.reason, reason, what);
      assert.equal(bed.connection.streams.length, streams, what);
      await bed.handler.deregister(ID, 'replaced');
    }
  });

  it('has its socket removed once a minute at most, and again as soon as that is over', async () => {
    const bed = new SessionBed({ reattach: 'recycle', resumed: true });
    await bed.register();
    assert.equal(bed.reported(), 'ready recycled');
    await bed.clock.advance(59_000);
    await bed.register();
    assert.equal(bed.reported(), 'ready list-unwatched');
    assert.equal(bed.moves, 1);
    await bed.clock.advance(1000);
    assert.equal(bed.reported(), 'ready recycled');
    assert.equal(bed.moves, 2);
    await bed.register();
    await bed.handler.deregister(ID, 'replaced');
    assert.equal(bed.clock.pending, 0);
  });

  it('without a stream is followed by its connection', async () => {
    const bed = new SessionBed({ reattach: 'probe', resumed: true });
    bed.knownDevices = 2;
    await bed.register();
    bed.connection.lost?.();
    assert.equal(bed.reported(), 'held connection-lost');
    assert.equal(bed.clock.pending, 0);
  });
});

describe('a plugin that is let go of in the moment in which it has answered', () => {
  it('is not registered with a session that is closed', async () => {
    const bed = new SessionBed();
    const registered = bed.register();
    await bed.handler.deregister(ID, 'replaced');
    await assert.rejects(registered, /was let go of while it was being registered/);
    assert.equal(bed.handler.openSessions, 0);
    assert.equal(bed.clock.pending, 0);
  });
});

describe('a session that is refused', () => {
  it('leaves nothing in the signal of its pending registration, whose attempts may all be in vain', async () => {
    const { signal } = new AbortController();
    const bed = new SessionBed();
    bed.dialler.prepare = (connection) => {
      connection.answer = () => Promise.reject(SILENT);
    };
    for (let nth = 0; nth < 20; nth += 1) await assert.rejects(bed.register(signal), Refused);
    assert.equal(leftIn(signal), 0);
  });
});
