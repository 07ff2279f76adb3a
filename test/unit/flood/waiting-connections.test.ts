import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectionGate, type Throttled } from '../../../src/flood/connection-gate.js';
import { FakeClock } from '../../support/fake-clock.js';
import { processOf } from '../../support/flood-world.js';
import { HeldTurns } from '../../support/http2/read-pace.js';
import { silentLog } from '../../support/silence.js';

const STRANGER = 4001;

/** A connection that was accepted, and nothing else. */
class FakeSocket {
  destroyed = false;
  readonly uid: number;
  readonly name: string;
  #closed: () => void = () => undefined;

  constructor(name: string, uid: number) {
    this.name = name;
    this.uid = uid;
  }

  once(_event: 'close', closed: () => void): this {
    this.#closed = closed;
    return this;
  }

  destroy(): void {
    this.destroyed = true;
    this.#closed();
  }
}

const NO_BORDER: Throttled = {
  throttle: () => undefined,
  throttleAfterOneCall: () => undefined,
  isIdle: true,
  readLater: () => undefined,
};

/** A gate with turns that the test gives, and the kernel's queue behind it. */
class World {
  readonly turns = new HeldTurns();
  /** Connections that the kernel still has. */
  queue: FakeSocket[] = [];
  /** Those of it that were closed by their uid alone. */
  closed = 0;
  /** Those that were taken up. */
  readonly went: string[] = [];
  /** Connections that the budget has let in and were not released. */
  open = 0;
  most = Infinity;
  readonly #gate = new ConnectionGate<FakeSocket, Throttled>({
    clock: new FakeClock(),
    log: silentLog,
    events: { record: () => undefined },
    reads: (uid) => (uid === 0 ? undefined : this.turns),
    openBorder: () => NO_BORDER,
    ownUid: 0,
    userOf: (uid) => uid,
    peers: {
      peerOf: ({ uid }) => processOf(1, uid),
      uidOf: ({ uid }) => uid,
      turnAwayMore: (_socket, isTurnedAway) => {
        for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
          if (isTurnedAway(next.uid, 1)) this.closed += 1;
          else this.comes(next);
        }
      },
    },
    reserve: { hasRoom: () => true },
    budget: {
      isEnforced: true,
      turnsAway: () => undefined,
      makeRoom: () => false,
      admit: () => {
        const refusesNext = (): boolean => this.open >= this.most;
        if (refusesNext()) return { ok: false, code: 'CONNECTION_FLOOD', sentence: 'too often', refusesNext };
        this.open += 1;
        return { ok: true, release: () => void (this.open -= 1) };
      },
    },
    count: () => undefined,
  });

  /** The listener accepts a connection. */
  comes(socket: FakeSocket): FakeSocket {
    this.#gate.inTurn(socket, () => {
      assert.equal(this.#gate.accept(socket)?.caller?.uid, socket.uid);
      this.went.push(socket.name);
    });
    return socket;
  }

  /** A turn of the loop. */
  turn(): void {
    this.turns.waiting.shift()?.();
  }
}

describe('connections of an ordinary user that come together', () => {
  it('are taken up in turns; those behind them come out of the queue, and of these root takes none', () => {
    const world = new World();
    world.queue = [new FakeSocket('second', STRANGER), new FakeSocket('root', 0), new FakeSocket('third', STRANGER)];
    world.comes(new FakeSocket('first', STRANGER));
    assert.deepEqual(world.went, ['root']);
    for (const name of ['first', 'second', 'third']) {
      world.turn();
      assert.equal(world.went.at(-1), name);
    }
  });

  it('are not taken up when they are over', () => {
    const world = new World();
    world.comes(new FakeSocket('over', STRANGER)).destroy();
    world.turn();
    assert.deepEqual(world.went, []);
  });

  it('count as open while they wait, each once; one that its process may not open is refused at once, and those behind it', () => {
    const world = new World();
    world.most = 3;
    const waiting = ['first', 'second', 'third'].map((name) => world.comes(new FakeSocket(name, STRANGER)));
    world.queue = Array.from({ length: 5 }, () => new FakeSocket('too many', STRANGER));
    assert.ok(world.comes(new FakeSocket('too many', STRANGER)).destroyed);
    assert.equal(world.closed, 5);
    assert.equal(world.open, 3);
    while (world.turns.waiting.length > 0) world.turn();
    assert.deepEqual(world.went, ['first', 'second', 'third']);
    assert.equal(world.open, 3);
    for (const one of waiting) one.destroy();
    assert.equal(world.open, 0);
  });
});
