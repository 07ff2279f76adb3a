import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectionVerdict } from '../../../src/flood/connection-budget.js';
import type { Caller } from '../../../src/model/ids.js';
import { FLOOD, FloodWorld, policySource, processOf } from '../../support/flood-world.js';

const byUid = (uid: number): Caller => ({
  uid,
  gid: undefined,
  pid: undefined,
  startTime: undefined,
  source: 'socket-file',
});
const small = (over = {}, mode: 'enforce' | 'observe' = 'enforce') =>
  policySource({ mode, connections: { ...FLOOD.connections, ...over } });
const codeOf = (verdict: ConnectionVerdict): string => (verdict.ok ? 'ok' : verdict.code);

describe('connections', () => {
  it('of one process are bounded in rate, and come back with time', async () => {
    const world = new FloodWorld(small({ burst: 3 }));
    const connect = (): string => {
      const verdict = world.gate.connections.admit(processOf(7, 1_000));
      if (verdict.ok) verdict.release();
      return codeOf(verdict);
    };
    assert.deepEqual([connect(), connect(), connect(), connect()], ['ok', 'ok', 'ok', 'CONNECTION_FLOOD']);
    const refused = world.gate.connections.admit(processOf(7, 1_000));
    const sentence =
      'pid 7 (uid 1000) connects more often than flood.connections allows (burst 3, then one each 20 ms); the connection is closed';
    assert.ok(!refused.ok);
    assert.deepEqual([refused.code, refused.sentence], ['CONNECTION_FLOOD', sentence]);
    assert.deepEqual(world.events.all, [], 'the side that closes it tells it');
    assert.equal(world.counts.get('connections disconnect'), 2);
    const refusesNext = (): boolean => refused.refusesNext?.() === true;
    assert.equal(refusesNext(), true);
    assert.equal(world.counts.get('connections disconnect'), 3, 'and it was counted');
    await world.clock.advance(20);
    assert.equal(refusesNext(), false);
    assert.deepEqual([connect(), connect()], ['ok', 'CONNECTION_FLOOD']);
  });

  it('of one process are bounded in number, and those of another are not felt', () => {
    const world = new FloodWorld(small({ perProcess: 2 }));
    const { connections } = world.gate;
    const first = connections.admit(processOf(7));
    assert.deepEqual(
      [connections.admit(processOf(7)), connections.admit(processOf(7)), connections.admit(processOf(8))].map(codeOf),
      ['ok', 'CONNECTIONS_PER_PROCESS', 'ok'],
    );
    assert.ok(first.ok);
    const refused = connections.admit(processOf(7));
    assert.equal(!refused.ok && refused.refusesNext?.(), true);
    first.release();
    first.release();
    assert.equal(!refused.ok && refused.refusesNext?.(), false);
    assert.equal(connections.open, 2);
    assert.deepEqual([connections.admit(processOf(7)), connections.admit(processOf(7))].map(codeOf), [
      'ok',
      'CONNECTIONS_PER_PROCESS',
    ]);
  });

  it('of a pid that is used again are those of another process', () => {
    const world = new FloodWorld(small({ perProcess: 1 }));
    const { connections } = world.gate;
    assert.equal(codeOf(connections.admit(processOf(7))), 'ok');
    assert.equal(codeOf(connections.admit({ ...processOf(7), startTime: 'later' })), 'ok');
  });

  it('are counted per uid where pids are unknown, and all together where nothing is known', () => {
    const world = new FloodWorld(small({ perProcess: 1 }));
    const { connections } = world.gate;
    const callers = [byUid(1), byUid(1), byUid(2), undefined, undefined];
    assert.deepEqual(
      callers.map((caller) => codeOf(connections.admit(caller))),
      ['ok', 'CONNECTIONS_PER_PROCESS', 'ok', 'ok', 'CONNECTIONS_PER_PROCESS'],
    );
  });

  it('are bounded in all', () => {
    const world = new FloodWorld(small({ total: 3 }));
    const codes = [1, 2, 3, 4].map((pid) => codeOf(world.gate.connections.admit(processOf(pid))));
    assert.deepEqual(codes, ['ok', 'ok', 'ok', 'CONNECTIONS_TOTAL']);
  });

  describe('of an ordinary user', () => {
    /** As the gate asks: first by the uid alone. */
    const connect = ({ gate: { connections } }: FloodWorld, pid: number, uid: number): string => {
      const turnedAway = connections.turnsAway(uid);
      if (turnedAway !== undefined) return turnedAway.sentence ?? 'away';
      const verdict = connections.admit(processOf(pid, uid));
      if (verdict.ok) verdict.release();
      return codeOf(verdict);
    };
    /** So many processes one after the other, each with so many connections; what was answered, and how often. */
    const churn = (world: FloodWorld, uid: number, processes: number, each: number): Map<string, number> => {
      const answers = new Map<string, number>();
      for (let nth = 0; nth < processes * each; nth += 1) {
        const answer = connect(world, 10_000 * uid + Math.floor(nth / each), uid);
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      }
      return answers;
    };
    const SENTENCE =
      'processes of uid 4001 connect more often than one user may (burst 1024, then one each 10 ms); the connection is closed, and so are further ones';

    it('are bounded in rate, however many processes it has; the first is told, and another user feels nothing', async () => {
      const world = new FloodWorld();
      const answers = new Map([
        ['ok', 1_024],
        [SENTENCE, 1],
        ['away', 8 * 250 - 1_025],
      ]);
      assert.deepEqual(churn(world, 4001, 8, 250), answers);
      assert.equal(world.gate.connections.size, 5, 'nothing is kept of the processes of those');
      assert.deepEqual(churn(world, 4002, 1, 250), new Map([['ok', 250]]));
      assert.deepEqual(churn(world, 0, 8, 250), new Map([['ok', 2_000]]));
      await world.clock.advance(1_000);
      assert.equal(churn(world, 4001, 8, 250).get('ok'), 100);
    });

    it('may be those of a hundred plugins that start anew three times in a second', () => {
      const world = new FloodWorld();
      assert.deepEqual(churn(world, 4001, 300, 3), new Map([['ok', 900]]));
    });

    it('are not spent by one of its processes for the others', () => {
      const world = new FloodWorld();
      assert.equal(churn(world, 4001, 1, 5_000).get('ok'), 300);
      assert.equal(connect(world, 7, 4001), 'ok');
    });

    it('are spent by those that find no room, too', () => {
      const world = new FloodWorld(small({ total: 1 }));
      const { connections } = world.gate;
      assert.equal(codeOf(connections.admit(processOf(1))), 'ok');
      assert.equal(churn(world, 4001, 8, 250).get('CONNECTIONS_TOTAL'), 1_024);
      for (let nth = 0; nth < 1_024; nth += 1) assert.equal(connections.makeRoom(processOf(nth, 4002)), false);
      assert.notEqual(connections.turnsAway(4002), undefined);
      assert.equal(connections.turnsAway(4003), undefined);
    });

    it('count for its uids together, and are as many as one process has where that is more', () => {
      const world = new FloodWorld(small({ burst: 2_000 }), undefined, undefined, undefined, (uid) => uid % 10);
      assert.equal(churn(world, 11, 2, 900).get('ok'), 1_800);
      assert.equal(churn(world, 21, 2, 900).get('ok'), 200);
    });

    it('that are turned away are told as a condition until it is over, and shown', async () => {
      const told: (string | undefined)[] = [];
      const world = new FloodWorld(policySource(), undefined, undefined, (why) => void told.push(why));
      churn(world, 4001, 8, 250);
      assert.match(told.join(), /^processes of uid 4001 connect so often that their connections are closed at once/);
      const rows = world.gate.connections.views().map(({ uid, exceeded, slowing }) => [uid, exceeded, slowing]);
      assert.deepEqual(rows, [[4001, 976, 'disconnect: processes of uid 4001']]);
      await world.clock.advance(2_000);
      churn(world, 4001, 8, 250);
      await world.clock.advance(2_999);
      assert.equal(told.length, 1);
      await world.clock.advance(1);
      assert.deepEqual(told.slice(1), [undefined]);
      await world.clock.advance(20_000);
      assert.deepEqual(world.gate.connections.views(), []);
    });

    it('may all stay where the mode is observe, which is told once', () => {
      const world = new FloodWorld(small({}, 'observe'));
      assert.deepEqual(churn(world, 4001, 8, 250), new Map([['ok', 2_000]]));
      assert.equal(world.counts.get('connections observe'), 976);
      assert.deepEqual(world.events.messages('connection'), [`${SENTENCE}, if flood.mode were enforce`]);
    });
  });

  describe('when all are open', () => {
    interface Open {
      readonly pid: number;
      isIdle: boolean;
      hasCalled: boolean;
    }
    /** A connection that stays until it is told to give way. */
    const open = (world: FloodWorld, pid: number, uid: number, over: Partial<Open> = {}): Open & { gone: boolean } => {
      const verdict = world.gate.connections.admit(processOf(pid, uid));
      const one = { pid, isIdle: true, hasCalled: false, gone: false, ...over };
      if (!verdict.ok) return { ...one, gone: true };
      verdict.mayGiveWay?.({
        isIdle: () => one.isIdle,
        hasCalled: () => one.hasCalled,
        giveWay: () => (one.gone = true),
      });
      return one;
    };
    const goneOf = (all: readonly { gone: boolean }[]): number[] => all.flatMap(({ gone }, at) => (gone ? [at] : []));

    it('the oldest idle one that never called, of the largest holder, gives way to another process', () => {
      const world = new FloodWorld(small({ total: 8 }));
      const few = [1, 2].map(() => open(world, 5, 1));
      const many = [0, 1, 2, 3, 4, 5].map((at) => open(world, 6, 1, { hasCalled: at === 1, isIdle: at !== 0 }));
      const newcomers = [7, 8].map((pid) => open(world, pid, 2));
      assert.deepEqual([goneOf(few), goneOf(many), goneOf(newcomers)], [[], [2, 3], []]);
      assert.equal(world.gate.connections.open, 8);
      assert.deepEqual(goneOf([open(world, 6, 1)]), [0], 'not to its own process');
    });

    it('one that called gives way when there is none else, and one with a call under way does not', () => {
      const world = new FloodWorld(small({ total: 4 }));
      const many = [0, 1, 2, 3].map((at) => open(world, 6, 1, { hasCalled: true, isIdle: at > 1 }));
      const newcomers = [7, 8, 9].map((pid) => open(world, pid, 2));
      assert.deepEqual([goneOf(many), goneOf(newcomers)], [[2, 3], [2]]);
    });

    it('the newest of an ordinary user that has more than half of all gives way, calls under way or not', () => {
      const world = new FloodWorld(small({ total: 8 }));
      const rest = [0, 1].map(() => open(world, 5, 0, { isIdle: false }));
      const many = [0, 1, 2, 3, 4, 5].map(() => open(world, 6, 4001, { isIdle: false }));
      const newcomers = [7, 8, 9].map((pid) => open(world, pid, 0, { isIdle: false }));
      assert.deepEqual([goneOf(rest), goneOf(many), goneOf(newcomers)], [[], [4, 5], [2]]);
      assert.deepEqual(goneOf([open(world, 10, 4001)]), [0], 'not to its own user');
    });

    it('none of root, and of the user of the broker, with a call under way gives way', () => {
      for (const uid of [0, 1_000]) {
        const world = new FloodWorld(small({ total: 4 }), undefined, undefined, undefined, undefined, 1_000);
        const many = [0, 1, 2, 3].map(() => open(world, 6, uid, { isIdle: false }));
        assert.deepEqual([goneOf([open(world, 7, 4001)]), goneOf(many)], [[0], []], String(uid));
      }
    });

    it('ever new processes of one user do not keep another user out', () => {
      const world = new FloodWorld(small({ total: 20 }));
      const crowd = Array.from({ length: 20 }, (_, at) => open(world, 100 + at, 4001));
      assert.deepEqual(goneOf([open(world, 200, 4001)]), [0], 'one more of them');
      assert.deepEqual([goneOf([open(world, 7, 0)]), goneOf(crowd)], [[], [0]]);
    });

    it('that is told once, with the large holders, and once when there is room again', async () => {
      const told: (string | undefined)[] = [];
      const world = new FloodWorld(small({ total: 3 }), undefined, undefined, (why) => void told.push(why));
      const { connections } = world.gate;
      const first = connections.admit(processOf(1));
      open(world, 2, 0);
      open(world, 3, 0);
      for (const pid of [4, 5, 6]) open(world, pid, 0);
      assert.match(
        told.join(),
        /^all 3 connections of flood\.connections\.total are open, so newcomers [^,]*, or cannot/,
      );
      assert.ok(connections.views().length >= 3);
      await world.clock.advance(10_000);
      assert.equal(told.length, 1);
      assert.ok(first.ok);
      first.release();
      await world.clock.advance(3_000);
      assert.deepEqual(told.slice(1), [undefined]);
    });

    it('that is told until a sixteenth is free, not while newcomers come and go', async () => {
      const told: (string | undefined)[] = [];
      const world = new FloodWorld(small({ total: 32 }), undefined, undefined, (why) => void told.push(why));
      const { connections } = world.gate;
      const held = Array.from({ length: 32 }, (_, at) => connections.admit(processOf(100 + at)));
      const release = (verdict: ConnectionVerdict | undefined): void => {
        if (verdict?.ok === true) verdict.release();
      };
      connections.admit(processOf(1));
      release(held.pop());
      await world.clock.advance(10_000);
      assert.equal(told.length, 1);
      release(held.pop());
      await world.clock.advance(3_000);
      assert.deepEqual(told.slice(1), [undefined]);
    });
  });

  it('may all stay where the mode is observe, and are counted', () => {
    const world = new FloodWorld(small({ perProcess: 1 }, 'observe'));
    const { connections } = world.gate;
    assert.deepEqual(
      [1, 1, 1].map((pid) => codeOf(connections.admit(processOf(pid)))),
      ['ok', 'ok', 'ok'],
    );
    assert.equal(world.counts.get('connections observe'), 2);
    assert.match(world.events.messages('connection')[0] ?? '', /a further one is closed, if flood\.mode were enforce$/);
  });

  it('of 10,000 processes leave memory bounded', () => {
    const world = new FloodWorld();
    for (let pid = 1; pid <= 10_000; pid += 1) {
      const verdict = world.gate.connections.admit(processOf(pid));
      if (verdict.ok) verdict.release();
    }
    assert.ok(world.gate.connections.size <= 4_097);
  });

  it('of processes past those that are counted apart count with those of their user, and for nobody else', () => {
    const world = new FloodWorld(small({ perProcess: 2, total: 10_000 }));
    const { connections } = world.gate;
    const connect = (pid: number, uid: number): string => codeOf(connections.admit(processOf(pid, uid)));
    for (let pid = 1; pid <= 4_096; pid += 1) connect(pid, 1000);
    assert.deepEqual(
      [5001, 5002, 5003].map((pid) => connect(pid, 1000)),
      ['ok', 'ok', 'CONNECTIONS_PER_PROCESS'],
    );
    assert.deepEqual([connect(6001, 0), connect(6002, 2000)], ['ok', 'ok']);
    const refused = connections.admit(processOf(5004, 1000));
    assert.match(refused.ok ? '' : refused.sentence, /^everybody else of uid 1000 holds the 2 connections /);
  });

  it('of processes that are done are forgotten when others need the room', async () => {
    const world = new FloodWorld();
    for (let round = 0; round < 3; round += 1) {
      for (let pid = 1; pid <= 4_000; pid += 1) {
        const verdict = world.gate.connections.admit(processOf(pid + round * 4_000));
        assert.ok(verdict.ok);
        verdict.release();
      }
      await world.clock.advance(20);
    }
    assert.ok(world.gate.connections.size <= 4_096);
  });

  it('are shown for processes that were refused one, and not for others', () => {
    const world = new FloodWorld(small({ perProcess: 1 }));
    const shown = () => world.gate.connections.views().map(({ exceeded, slowing }) => [exceeded, slowing]);
    const first = world.gate.connections.admit(processOf(7));
    assert.deepEqual(shown(), []);
    world.gate.connections.admit(processOf(7));
    assert.deepEqual(shown(), [[1, 'disconnect: pid 7 (uid 0), 1 open']]);
    assert.ok(first.ok);
    first.release();
    assert.deepEqual(shown(), [[1, 'pid 7 (uid 0), 0 open']]);
  });

  it('go on with their permits after a reload', () => {
    const world = new FloodWorld(small({ burst: 2 }));
    const { connections } = world.gate;
    connections.admit(processOf(7));
    connections.admit(processOf(7));
    world.gate.reload(small({ burst: 100 }));
    assert.equal(codeOf(connections.admit(processOf(7))), 'CONNECTION_FLOOD');
  });
});
