import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PeerPace } from '../../../../src/platform/http/peer-pace.js';

void describe('the pace of a peer', () => {
  void it('lets a few requests pass at once and then one each interval, and a pause gives them back', () => {
    const pace = new PeerPace();
    for (let at = 0; at < 40; at++) assert.equal(pace.waitMs('a', 0), 0);
    assert.equal(pace.waitMs('a', 0), 50);
    assert.equal(pace.waitMs('a', 0), 100);
    assert.equal(pace.waitMs('a', 60_000), 0);
  });

  void it('of one peer is not felt by another, however many there were', () => {
    const pace = new PeerPace();
    for (let at = 0; at < 500; at++) pace.waitMs('a', 0);
    for (let peer = 0; peer < 5000; peer++) assert.equal(pace.waitMs(`b${peer}`, 0), 0);
  });
});
