import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('a connection that waits for its turn', () => {
  it('is closed in it when the door has ended all connections meanwhile', () => {
    const held: (() => void)[] = [];
    const door = new GrpcDoor({
      accept: () => assert.fail('it is too late'),
      inTurn: (_socket, go) => void held.push(go),
      streams: 1,
      maxRequestBytes: 1,
      clock: new FakeClock(),
    });
    const socket = new Socket();
    door.take(socket);
    door.destroy();
    assert.equal(held.length, 1);
    for (const go of held) go();
    assert.ok(socket.destroyed);
  });
});
