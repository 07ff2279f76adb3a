import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import { ConnectionTurns } from '../../../../src/platform/http/connection-turns.js';
import type { HttpPeer } from '../../../../src/platform/http/http-peer.js';
import { FakeClock } from '../../../support/fake-clock.js';

const ROOT: HttpPeer = { name: 'user 0', sharer: undefined };
const user = (uid: number): HttpPeer => ({ name: `user ${String(uid)}`, sharer: uid });
const elsewhere = (address: string): HttpPeer => ({ name: address, sharer: 'unknown' });

type Connection = Parameters<ConnectionTurns['take']>[0];

/** As much of a connection as is looked at. */
class FakeSocket extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
  }
}

function bed() {
  const clock = new FakeClock();
  const taken: string[] = [];
  const turns = new ConnectionTurns(clock, (_socket, { name }) => taken.push(name));
  /** How many of so many new connections of a peer were closed. */
  const connect = (peer: HttpPeer, times = 1): number => {
    const sockets = Array.from({ length: times }, () => new FakeSocket());
    const kept = sockets.filter((socket) => turns.take(socket as unknown as Connection, peer));
    assert.ok(sockets.every((socket) => socket.destroyed !== kept.includes(socket)));
    return times - kept.length;
  };
  return { clock, taken, turns, connect };
}

void describe('the turns of new connections', () => {
  void it('are 64 at once and 20 a second for one peer, 128 wait, and further ones are closed', async () => {
    const { clock, taken, turns, connect } = bed();
    assert.equal(connect(user(4001), 64), 0);
    assert.equal(taken.length, 64);
    assert.equal(connect(user(4001), 200), 200 - 128);
    await clock.advance(1000);
    assert.equal(taken.length, 84);
    turns.close();
  });

  void it('are for nobody who has his own, however many of a user wait under all its names', () => {
    const { taken, turns, connect } = bed();
    // As itself, and with connections that it closed before they were looked at.
    connect(user(4001), 1000);
    connect(elsewhere('local'), 1000);
    connect(elsewhere('192.0.2.2'), 1000);
    taken.length = 0;
    assert.equal(connect(user(4002), 10), 0);
    assert.equal(connect(elsewhere('198.51.100.7'), 10), 0);
    assert.equal(connect(ROOT, 100), 0);
    assert.equal(taken.length, 120);
    turns.close();
  });

  void it('say beforehand whether a connection would be closed, and spend nothing for that', () => {
    const { turns, connect } = bed();
    connect(user(4001), 64 + 127);
    assert.equal(turns.isFull(user(4001)), false);
    assert.equal(turns.isFull(user(4001)), false);
    connect(user(4001));
    assert.equal(turns.isFull(user(4001)), true);
    assert.equal(turns.isFull(user(4002)), false);
    assert.equal(turns.isFull(ROOT), false);
    turns.close();
  });
});
