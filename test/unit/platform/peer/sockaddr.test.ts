import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressIn } from '../../../../src/platform/peer/sockaddr.js';

/** A sockaddr of this machine: the family in its order, the rest as on the wire. */
function sockaddr(family: number, ...rest: string[]): Buffer {
  return Buffer.concat([Buffer.from(new Uint16Array([family]).buffer), Buffer.from(rest.join(''), 'hex')], 28);
}

void describe('the address in a sockaddr', () => {
  void it('is one of IPv4', () => {
    assert.equal(addressIn(sockaddr(2, '25f8', '7f010203')), '127.1.2.3');
  });

  void it('is one of IPv6, with all of its groups', () => {
    const raw = sockaddr(10, '25f8', '00000000', '20010db8000100020000000000abcdef');
    assert.equal(addressIn(raw), '2001:db8:1:2:0:0:ab:cdef');
  });

  void it('is one of IPv4 in IPv6', () => {
    const raw = sockaddr(10, '0050', '00000000', '00000000000000000000ffffc0000207');
    assert.equal(addressIn(raw), '::ffff:192.0.2.7');
  });
});
