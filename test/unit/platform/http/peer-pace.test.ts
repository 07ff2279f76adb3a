import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { peerOf, PeerPace } from '../../../../src/platform/http/peer-pace.js';

const A = '192.0.2.1';

void describe('the pace of a peer', () => {
  void it('lets a few requests pass at once and then one each interval, and a pause gives them back', () => {
    const pace = new PeerPace();
    for (let at = 0; at < 40; at++) assert.equal(pace.take(A, 0).waitMs, 0);
    assert.equal(pace.take(A, 0).waitMs, 50);
    assert.equal(pace.take(A, 0).waitMs, 100);
    assert.equal(pace.take(A, 60_000).waitMs, 0);
  });

  void it('of one peer is not felt by another', () => {
    const pace = new PeerPace();
    for (let at = 0; at < 60; at++) pace.take(A, 0);
    for (let at = 0; at < 20; at++) assert.equal(pace.take('192.0.2.2', 0).waitMs, 0);
  });

  void it('does not wait for those who gave their turns back', () => {
    const pace = new PeerPace();
    for (let at = 0; at < 40; at++) pace.take(A, 0);
    for (let at = 0; at < 10_000; at++) pace.take(A, 0).giveBack();
    assert.equal(pace.take(A, 0).waitMs, 50);
  });

  for (const [what, addresses] of [
    ['of this machine', ['127.0.0.1', '127.3.2.1', '::1', '::ffff:127.0.0.9']],
    ['of one network of IPv6', ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::']],
    ['that IPv6 spells otherwise', ['192.0.2.9', '::ffff:192.0.2.9']],
  ] as const) {
    void it(`is one for all addresses ${what}`, () => {
      const pace = new PeerPace();
      for (let at = 0; at < 40; at++) pace.take(peerOf(addresses[at % addresses.length] ?? ''), 0);
      for (const address of addresses) assert.ok(pace.take(peerOf(address), 0).waitMs > 0, address);
    });
  }

  void it('tells users of this machine apart, where they are known', () => {
    const names = [peerOf('127.0.0.1', 4001), peerOf('::1', 4002), peerOf('127.0.0.1')];
    assert.equal(new Set(names).size, 3);
    assert.equal(peerOf('::1', 4001), names[0]);
  });

  void it('tells networks apart', () => {
    const pace = new PeerPace();
    for (let at = 0; at < 50; at++) pace.take(peerOf('2001:db8:1:2::1'), 0);
    for (const other of ['2001:db8:1:3::1', '2001:db8::1', 'fe80::1', '::', '']) {
      assert.equal(pace.take(peerOf(other), 0).waitMs, 0, other);
    }
  });

  void it('is one for all together, too, however many they are', () => {
    const pace = new PeerPace();
    let waitMs = 0;
    for (let peer = 0; peer < 5000; peer++) {
      waitMs = pace.take(`10.0.${String(peer >> 8)}.${String(peer & 255)}`, 0).waitMs;
      assert.equal(waitMs, Math.max(0, peer - 79) * 25);
    }
    assert.equal(pace.take(A, 10 * 60_000).waitMs, 0);
  });
});
