import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkCaps } from '../../../src/admission/caps.js';

const OWN = 1000;

/** The refusal of a newcomer where so many of eight places are taken. */
function refusal(uid: number, live: number, own: number, strangers: number, isKnown = false): string | undefined {
  const roster = { isKnown: () => isKnown, livePlugins: live, livePluginsOf: () => ({ own, strangers }) };
  return checkCaps({ type: 't', name: 'example.com/x', uid, ownUid: OWN, maxPlugins: 8, roster })?.message;
}

describe('room for one more plugin', () => {
  it('is there while fewer than admission.maxPlugins count, and for those that are known', () => {
    for (const uid of [0, OWN, 7]) {
      assert.equal(refusal(uid, 7, 0, 0), undefined);
      assert.match(refusal(uid, 8, 0, 0) ?? '', /^example\.com\/x: the broker already holds 8 plugins/);
      assert.equal(refusal(uid, 8, 8, 8, true), undefined);
    }
  });

  it('is a quarter for one ordinary user and three for all of them, and the whole for root and the own user', () => {
    assert.equal(refusal(7, 5, 1, 5), undefined);
    assert.match(refusal(7, 5, 2, 5) ?? '', /uid 7, which may have a quarter of the room, already has 2/);
    assert.match(refusal(7, 6, 0, 6) ?? '', /users other than root and the broker together already has 6/);
    for (const uid of [0, OWN]) assert.equal(refusal(uid, 7, 7, 7), undefined);
  });
});
