import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { ConnectionGate } from '../../../src/flood/connection-gate.js';
import type { Caller } from '../../../src/model/ids.js';
import type { Connection } from '../../../src/platform/grpc/grpc-door.js';
import { Border } from '../../../src/platform/http2/border.js';
import { encodeFrame, FRAME, PREFACE, readHead } from '../../../src/platform/http2/frames.js';
import { FakeClock } from '../../support/fake-clock.js';
import { processOf } from '../../support/flood-world.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { memoryPair } from '../../support/http2/memory-pair.js';
import { request, requestBlock, settings } from '../../support/http2/raw-peer.js';

/** PING frames beyond the budget of this world. */
const ATTACK = Buffer.concat([
  PREFACE,
  settings(),
  ...Array.from({ length: 20 }, () => encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8))),
]);

/** A door for connections in memory. */
class World {
  readonly clock = new FakeClock();
  readonly told: string[] = [];
  readonly counted: string[] = [];
  places = 0;
  /** Calls that passed their border. */
  calls = 0;
  /** Whether the user is turned away, and the words about it. */
  turnedAway: { readonly sentence: string | undefined } | undefined;
  /** Processes that may have no further connection. */
  readonly spent = new Set<number | undefined>();
  /** Of those in the queue behind one that is refused. */
  readonly waiting: { readonly uid: number; readonly pid: number }[] = [7, 7, 8].map((uid) => ({ uid, pid: 1 }));
  borders = 0;
  /** Of three that wait behind it. */
  moreAway = 0;
  asked = 0;
  #caller: Caller | undefined = processOf(1);
  readonly #gate = new ConnectionGate<Duplex, Border>({
    clock: this.clock,
    log: {
      error: () => undefined,
      warn: (event, _message, fields) => void this.told.push(`${event} ${String(fields?.['code'])}`),
      info: () => undefined,
      debug: () => undefined,
    },
    events: { record: () => undefined },
    reads: () => undefined,
    openBorder: (socket, onEnd, turns) => {
      this.borders += 1;
      const guard = { ...guardSettings, pings: 10, idleMs: 1_000 };
      return new Border(socket, { guard, clock: this.clock, onEnd, turns });
    },
    ownUid: 0,
    userOf: (uid) => uid,
    peers: {
      peerOf: () => {
        this.asked += 1;
        return this.#caller;
      },
      uidOf: () => this.#caller?.uid,
      turnAwayMore: (_socket, isTurnedAway) => {
        for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
          if (isTurnedAway(next.uid, next.pid)) this.moreAway += 1;
          else void this.connect(processOf(next.pid, next.uid));
        }
      },
    },
    reserve: { hasRoom: () => true },
    budget: {
      isEnforced: true,
      turnsAway: () => this.turnedAway,
      makeRoom: () => false,
      admit: (caller) => {
        if (this.spent.has(caller?.pid)) {
          const refusesNext = (): boolean => this.spent.has(caller?.pid);
          return { ok: false, code: 'CONNECTION_FLOOD', sentence: 'too often', refusesNext };
        }
        this.places += 1;
        return { ok: true, release: () => void (this.places -= 1) };
      },
    },
    count: (what) => void this.counted.push(what),
  });

  /** A process connects; `connection` is undefined where it was refused. */
  async connect(caller: Caller | undefined): Promise<{ client: Duplex; connection: Connection | undefined }> {
    this.#caller = caller;
    const [client, socket] = memoryPair();
    client.on('error', () => undefined).resume();
    const connection: Connection | undefined = this.#gate.accept(socket);
    let passed = Buffer.from([]);
    connection?.stream.on('error', () => undefined);
    connection?.stream.on('data', (bytes: Buffer) => {
      passed = Buffer.concat([passed, bytes]);
      this.calls += callsIn(passed) - callsIn(passed.subarray(0, passed.length - bytes.length));
    });
    await this.settle();
    return { client, connection };
  }

  /** Connects and attacks; returns whether that was ended without time passing. */
  async isEndedAtOnce(caller: Caller | undefined): Promise<boolean> {
    const { client, connection } = await this.connect(caller);
    client.write(ATTACK);
    await this.settle();
    return connection?.stream.destroyed === true;
  }

  /** So many connections of a process make so many calls at once each, after so many refusals. */
  async call(caller: Caller, connections: number, calls: number, refusals = 0): Promise<void> {
    for (let nth = 0; nth < connections; nth++) {
      const { client, connection } = await this.connect(caller);
      client.write(Buffer.concat([PREFACE, settings()]));
      for (let time = 0; time < refusals; time++) connection?.answered(false);
      const streams = Array.from({ length: calls }, (_, at) => 1 + 2 * at);
      client.write(Buffer.concat(streams.map((stream) => request(stream, requestBlock('/raw')))));
    }
    await this.settle();
  }

  /** Calls that passed in this time. */
  async callsWithin(ms: number): Promise<number> {
    const before = this.calls;
    for (let at = 0; at < ms; at += 10) await this.pass(10);
    return this.calls - before;
  }

  async settle(): Promise<void> {
    for (let turns = 0; turns < 8; turns++) await turn();
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.settle();
  }
}

/** Calls whose first frame is among whole octets of a client. */
function callsIn(bytes: Buffer): number {
  let calls = 0;
  for (let at = PREFACE.length; at + 9 <= bytes.length;) {
    const { type, length } = readHead(bytes, at);
    if (type === FRAME.HEADERS) calls += 1;
    at += 9 + length;
  }
  return calls;
}

void describe('calls that are taken up', () => {
  void it('after refusals are ten a second of a process, however many connections it has, and none is lost', async () => {
    const world = new World();
    await world.call(processOf(1), 12, 3, 16);
    assert.ok((await world.callsWithin(1_000)) <= 10);
    const before = world.calls;
    await world.call(processOf(2), 1, 1);
    assert.equal(world.calls, before + 1, 'another process is not concerned');
    await world.callsWithin(5_000);
    assert.equal(world.calls, 37);
  });

  void it('after refusals are at once the first ones of many further connections, but not again and again', async () => {
    const world = new World();
    await world.call(processOf(1), 1, 0, 16);
    await world.call(processOf(1), 240, 1);
    assert.equal(world.calls, 240);
    await world.call(processOf(1), 40, 1);
    const later = await world.callsWithin(1_000);
    assert.ok(later >= 9 && later <= 11, String(later));
  });

  void it('after refusals are forty a second of an ordinary user, however many processes it has', async () => {
    const world = new World();
    for (let pid = 1; pid <= 10; pid++) await world.call(processOf(pid, 7), 1, 20, 16);
    await world.callsWithin(200);
    const within = await world.callsWithin(1_000);
    assert.ok(within >= 36 && within <= 40, String(within));
    await world.call(processOf(20, 8), 1, 20, 16);
    await world.callsWithin(200);
    assert.ok((await world.callsWithin(500)) >= 24, 'another user has its own');
  });

  void it('of an ordinary user are bounded with any outcome, by process and by user', async () => {
    const world = new World();
    await world.call(processOf(1, 7), 4, 100);
    assert.equal(world.calls, 250);
    await world.call(processOf(2, 7), 2, 100);
    assert.equal(world.calls, 450, 'another process has its own');
    assert.equal(await world.callsWithin(100), 10);
    await world.call(processOf(3, 7), 2, 100);
    assert.ok(world.calls < 520, 'and the user has not more for more of them');
    const within = await world.callsWithin(500);
    assert.ok(within >= 95 && within <= 105, String(within));
    await world.callsWithin(2_000);
    assert.equal(world.calls, 800, 'each call comes to its turn');
  });

  void it('of root are not', async () => {
    const world = new World();
    await world.call(processOf(1), 10, 100);
    assert.equal(world.calls, 1_000);
  });
});

void describe('connections of a user that connects too often', () => {
  void it('are closed, the first with a word, and nothing is asked or built for the next ones', async () => {
    const world = new World();
    world.turnedAway = { sentence: 'too often' };
    assert.equal((await world.connect(processOf(1, 7))).connection, undefined);
    const told = Array.from({ length: 4 }, () => 'connection.ended CONNECTION_FLOOD');
    assert.deepEqual([world.told.splice(0), world.moreAway], [told, 3], 'and those behind it');
    world.turnedAway = { sentence: undefined };
    world.waiting.push({ uid: 7, pid: 1 }, { uid: 7, pid: 2 }, { uid: 8, pid: 1 });
    assert.equal((await world.connect(processOf(1, 7))).connection, undefined);
    assert.deepEqual(world.counted, Array(8).fill('refused'));
    assert.deepEqual([world.told.length, world.asked, world.borders, world.places], [0, 0, 0, 0]);
  });
});

void describe('connections of a process that connects too often', () => {
  void it('are closed with those behind it, without a look or a word; others among them are let in', async () => {
    const world = new World();
    world.spent.add(1).add(2);
    const [mine, other, foreign, same] = [
      { uid: 7, pid: 1 },
      { uid: 7, pid: 2 },
      { uid: 8, pid: 3 },
      { uid: 8, pid: 1 },
    ];
    world.waiting.splice(0, 3, mine, other, mine, foreign, other, same, mine);
    assert.equal((await world.connect(processOf(1, 7))).connection, undefined);
    assert.deepEqual([world.moreAway, world.waiting.length], [4, 0]);
    assert.equal(world.asked, 4, 'one look for each process');
    assert.equal(world.told.length, 3, 'and one word');
    assert.deepEqual([world.counted.filter((what) => what === 'refused').length, world.places], [7, 1]);
    world.waiting.push(mine);
    world.spent.delete(1);
    await world.connect(processOf(2, 7));
    assert.equal(world.moreAway, 4, 'facts about a process are forgotten afterwards');
    assert.equal(world.places, 2);
  });
});

void describe('connections of a process that is cut off again and again', () => {
  void it('are looked at in turns, which is told once', async () => {
    const world = new World();
    for (let nth = 0; nth < 4; nth++) assert.equal(await world.isEndedAtOnce(processOf(1)), true);
    assert.deepEqual(world.told, [
      ...Array<string>(4).fill('connection.ended PING_FLOOD'),
      'connection.slowed CUT_OFF_AGAIN',
    ]);
    assert.equal(await world.isEndedAtOnce(processOf(1)), false);
    assert.equal(await world.isEndedAtOnce(processOf(2)), true, 'another process is not concerned');
    await world.pass(100);
    assert.equal(world.told.filter((line) => line === 'connection.ended PING_FLOOD').length, 6);
    assert.equal(world.told.filter((line) => line === 'connection.slowed CUT_OFF_AGAIN').length, 1);
    assert.equal(world.places, 0);
  });

  void it('are those of one that leaves its answers unread, too, each of which is told', async () => {
    const world = new World();
    for (let nth = 0; nth < 4; nth++) {
      const { connection } = await world.connect(processOf(1));
      connection?.cutOff?.('it left its answers unread');
      await world.settle();
      assert.equal(connection?.stream.destroyed, true);
    }
    assert.deepEqual(world.told, [
      ...Array<string>(4).fill('connection.ended UNREAD_BYTES'),
      'connection.slowed CUT_OFF_AGAIN',
    ]);
    assert.deepEqual([world.places, world.counted.filter((what) => what === 'ended').length], [0, 4]);
  });

  void it('wait in small numbers: one too many is closed, and gives its place back', async () => {
    const world = new World();
    for (let nth = 0; nth < 4; nth++) await world.isEndedAtOnce(processOf(1));
    const waiting = await Promise.all(Array.from({ length: 12 }, () => world.connect(processOf(1))));
    assert.equal(waiting.filter(({ connection }) => connection === undefined).length, 2);
    assert.deepEqual([world.places, world.told.at(-1)], [10, 'connection.ended CUT_OFF_AGAIN']);
    assert.equal(world.counted.filter((what) => what === 'refused').length, 2);
    // Those who leave before their turn leave nothing behind, whether they have said something or not.
    for (const [nth, { client }] of waiting.entries()) {
      if (nth % 2 === 0) client.write(PREFACE);
      client.end();
    }
    await world.pass(1_000);
    for (const { connection } of waiting) connection?.stream.end();
    await world.pass(guardSettings.halfClosedMs);
    assert.equal(world.places, 0);
    assert.equal(world.clock.pending, 0);
  });

  void it('are free again once a call of it is accepted', async () => {
    const world = new World();
    const innocent = await world.connect(processOf(1));
    for (let nth = 0; nth < 4; nth++) await world.isEndedAtOnce(processOf(1));
    innocent.connection?.answered(true);
    assert.equal(await world.isEndedAtOnce(processOf(1)), true);
    innocent.client.destroy();
  });

  void it('are not those of a process whose connections were only idle or old', async () => {
    const world = new World();
    for (let nth = 0; nth < 6; nth++) {
      const { client } = await world.connect(processOf(1));
      client.write(Buffer.concat([PREFACE, settings()]));
      await world.pass(1_000);
      await world.pass(5_000);
    }
    assert.equal(world.counted.filter((what) => what === 'ended').length, 6);
    assert.deepEqual(world.told, []);
    assert.equal(await world.isEndedAtOnce(processOf(1)), true);
  });
});
