import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { Brake, HOLD } from '../../../../src/platform/http2/brake.js';

describe('the brake of a socket', () => {
  it('lets it be read again only when the last reason is over', () => {
    const socket = new PassThrough();
    socket.on('data', () => undefined);
    const brake = new Brake(socket, () => 7);
    brake.hold(HOLD.THROTTLED);
    brake.hold(HOLD.ANSWERS_UNREAD);
    brake.letGo(HOLD.THROTTLED);
    brake.letGo(HOLD.THROTTLED);
    assert.deepEqual([socket.isPaused(), brake.isOn, brake.has(HOLD.THROTTLED)], [true, true, false]);
    assert.equal(brake.since, 7);
    brake.letGo(HOLD.ANSWERS_UNREAD);
    assert.deepEqual([socket.isPaused(), brake.isOn], [false, false]);
    assert.equal(brake.since, undefined);
    socket.destroy();
  });
});
