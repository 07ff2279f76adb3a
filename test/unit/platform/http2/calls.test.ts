import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Calls, HALF_REQUEST_BYTES, PIECE_BYTES } from '../../../../src/platform/http2/calls.js';
import { PeerFault } from '../../../../src/platform/http2/fault.js';

void describe('calls', () => {
  void it('are open until both sides have ended, in either order', () => {
    const calls = new Calls(0);
    calls.open(1, 10);
    calls.open(3, 11);
    assert.equal(calls.requested(1, 12), false);
    assert.equal(calls.answered(1, 13), true);
    assert.equal(calls.answered(3, 14), false);
    assert.equal(calls.size, 1);
    assert.equal(calls.requested(3, 15), true);
    assert.equal(calls.size, 0);
    assert.equal(calls.idleSince, 15);
  });

  void it('are opened by rising odd ids only', () => {
    const calls = new Calls(0);
    assert.equal(calls.opens(2), false);
    calls.open(5, 0);
    assert.equal(calls.opens(5), false);
    assert.equal(calls.opens(3), false);
    assert.equal(calls.opens(7), true);
    assert.equal(calls.lastId, 5);
  });

  void it('that are unknown change nothing', () => {
    const calls = new Calls(0);
    assert.equal(calls.requested(9, 1), false);
    assert.equal(calls.answered(9, 1), false);
    calls.reset(9, 1);
    calls.granted(9, 10);
    calls.sent(9, 10, 1);
    assert.equal(calls.idleSince, 0);
  });

  void it('half open are counted from the oldest whose request is not complete', () => {
    const calls = new Calls(0);
    calls.open(1, 10);
    calls.open(3, 20);
    assert.equal(calls.halfOpenSince(), 10);
    calls.requested(1, 30);
    assert.equal(calls.halfOpenSince(), 20);
    calls.reset(3, 40);
    assert.equal(calls.halfOpenSince(), undefined);
  });

  void it('are half open from their answer on, when that ends before the request does', () => {
    const calls = new Calls(0);
    for (const id of [1, 3, 5]) calls.open(id, 10);
    calls.answering(1); // a stream in both directions
    calls.answering(3);
    calls.answered(3, 40);
    calls.answering(5);
    calls.answered(5, 30);
    assert.equal(calls.halfOpenSince(), 30);
    calls.requested(5, 50);
    assert.equal(calls.halfOpenSince(), 40);
    calls.open(7, 60);
    assert.equal(calls.halfOpenSince(), 40);
    calls.reset(3, 70);
    assert.equal(calls.halfOpenSince(), 60);
    calls.requested(7, 80);
    assert.equal(calls.halfOpenSince(), undefined);
  });

  void it('hold so many octets of requests that are not complete, and are a fault beyond that', () => {
    const calls = new Calls(0, 1_000 + 2 * PIECE_BYTES);
    for (const id of [1, 3, 5, 7, 9]) calls.open(id, 0);
    calls.received(1, 600);
    calls.received(3, 400);
    calls.requested(1, 1);
    calls.received(5, 600);
    calls.reset(3, 1);
    calls.received(7, 400);
    calls.received(11, 5_000); // nobody's
    calls.answering(7); // it goes on while it is answered
    assert.throws(
      () => calls.received(7, 1),
      (fault) => fault instanceof PeerFault && fault.code === 'CALL_FLOOD',
    );
  });

  void it('hold an object for each piece of a request, however few octets it has', () => {
    const calls = new Calls(0, HALF_REQUEST_BYTES);
    calls.open(1, 0);
    const pieces = Math.floor(HALF_REQUEST_BYTES / (1 + PIECE_BYTES));
    for (let piece = 0; piece < pieces; piece++) calls.received(1, 1);
    assert.throws(
      () => calls.received(1, 1),
      (fault) => fault instanceof PeerFault && fault.code === 'CALL_FLOOD',
    );
  });

  void it('are asked until their answer begins, or their request is complete', () => {
    const calls = new Calls(0);
    for (const id of [1, 3]) calls.open(id, 0);
    assert.equal(calls.isAsked(1), true);
    calls.answering(1);
    calls.requested(3, 1);
    assert.deepEqual([calls.isAsked(1), calls.isAsked(3), calls.isAsked(5)], [false, false, false]);
  });

  void it('starve while the window of their stream is less than a drop', () => {
    const calls = new Calls(0);
    calls.beginWith(1000, 0);
    calls.open(1, 5);
    assert.equal(calls.starvedSince(), undefined);
    calls.sent(1, 900, 7);
    assert.equal(calls.starvedSince(), 7);
    calls.granted(1, 100);
    assert.equal(calls.starvedSince(), 7);
    calls.granted(1, 100);
    assert.equal(calls.starvedSince(), undefined);
  });

  void it('starve while the window of the connection is less than a drop, but not before they were opened', () => {
    const calls = new Calls(0);
    calls.open(1, 1);
    calls.sent(1, 65_535, 2);
    calls.reset(1, 3);
    assert.equal(calls.starvedSince(), undefined);
    calls.open(3, 50);
    assert.equal(calls.starvedSince(), 50);
    calls.granted(0, 65_535);
    assert.equal(calls.starvedSince(), undefined);
  });

  void it('change their window with the initial one of the peer', () => {
    const calls = new Calls(0);
    calls.open(1, 0);
    calls.beginWith(0, 4);
    assert.equal(calls.starvedSince(), 4);
    calls.open(3, 5);
    calls.beginWith(65_535, 6);
    assert.equal(calls.starvedSince(), undefined);
  });

  void it('that were answered do not starve', () => {
    const calls = new Calls(0);
    calls.beginWith(0, 0);
    calls.open(1, 1);
    calls.answered(1, 2);
    assert.equal(calls.starvedSince(), undefined);
  });

  void it('may exceed what the server allows only by what was under way', () => {
    const calls = new Calls(0);
    calls.limit(128);
    let id = 1;
    for (; id < 2 * (128 + 256); id += 2) calls.open(id, 0);
    assert.throws(
      () => calls.open(id, 0),
      (thrown: unknown) => thrown instanceof PeerFault && thrown.code === 'CALL_FLOOD',
    );
  });
});
