import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownerOf, peerOf, type HttpPeer } from '../../../../src/platform/http/http-peer.js';

/** The peer at an address, for a kernel that says so much of its user. */
function peer(uid: number | 'nobody' | undefined, address = '127.0.0.1'): HttpPeer {
  return peerOf(address, uid, { ownUid: 900, userOf: (one) => (one >= 100_000 ? 4001 : one) });
}

void describe('the peer of a connection', () => {
  void it('is a user of this machine with a share, and the same one at each address and by each uid of its range', () => {
    assert.deepEqual(peer(4001), { name: 'user 4001', sharer: 4001 });
    assert.deepEqual(peer(4001, '::1'), peer(4001));
    assert.deepEqual(peer(100_007), peer(4001));
    assert.notEqual(peer(4002).name, peer(4001).name);
  });

  void it('has no share where it is root or the own user of the broker, and where users are not told apart', () => {
    assert.deepEqual(peer(0), { name: 'user 0', sharer: undefined });
    assert.deepEqual(peer(900), { name: 'user 900', sharer: undefined });
    assert.deepEqual(peer(undefined, '192.0.2.1'), { name: '192.0.2.1', sharer: undefined });
  });

  void it('is the owner of an address where no process here has the other end, and has the share of all of them', () => {
    assert.deepEqual(peer('nobody', '192.0.2.1'), { name: '192.0.2.1', sharer: 'unknown' });
    assert.deepEqual(peer('nobody'), { name: 'local', sharer: 'unknown' });
  });
});

void describe('the owner of addresses', () => {
  for (const [what, addresses] of [
    ['of this machine', ['127.0.0.1', '127.3.2.1', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.9']],
    ['of one network of IPv6', ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::']],
    ['that IPv6 spells otherwise', ['192.0.2.9', '::ffff:192.0.2.9']],
  ] as const) {
    void it(`is one for all addresses ${what}`, () => {
      assert.equal(new Set(addresses.map(ownerOf)).size, 1);
    });
  }

  void it('is another one in another network', () => {
    const networks = [
      '2001:db8:1:2::1',
      '2001:db8:1:3::1',
      '2001:db8::1',
      'fe80::1',
      '::',
      '',
      '127.0.0.1',
      '192.0.2.9',
    ];
    assert.equal(new Set(networks.map(ownerOf)).size, networks.length);
  });
});
