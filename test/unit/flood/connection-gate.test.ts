import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { ConnectionGate } from '../../../src/flood/connection-gate.js';
import type { Caller } from '../../../src/model/ids.js';
import type { Connection } from '../../../src/platform/grpc/grpc-door.js';
import { createBorder, type Border } from '../../../src/platform/http2/border.js';
import { encodeFrame, FRAME, PREFACE } from '../../../src/platform/http2/frames.js';
import { FakeClock } from '../../support/fake-clock.js';
import { processOf } from '../../support/flood-world.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { memoryPair } from '../../support/http2/memory-pair.js';
import { settings } from '../../support/http2/raw-peer.js';

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
    openBorder: (socket, onEnd) =>
      createBorder(socket, { guard: { ...guardSettings, pings: 10, idleMs: 1_000 }, clock: this.clock, onEnd }),
    peerOf: () => this.#caller,
    hasRoom: () => true,
    budget: {
      admit: () => {
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
    connection?.stream.on('error', () => undefined).resume();
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

  async settle(): Promise<void> {
    for (let turns = 0; turns < 8; turns++) await turn();
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.settle();
  }
}

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
