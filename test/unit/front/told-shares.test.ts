import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ToldShares, USER_OCTETS } from '../../../src/front/told-shares.js';

const MIB = 1024 * 1024;

/** Shares, with the resources of which pods have devices. */
function world() {
  const held = new Set<string>();
  const facts = { freed: 0 };
  const shares = new ToldShares({ isFree: (resource) => !held.has(resource) }, () => {
    facts.freed += 1;
  });
  return { shares, held, facts };
}

describe('what the kubelet is told of resources of ordinary users', () => {
  it('has a share for each user, and one for all of them', () => {
    const { shares } = world();
    assert.equal(shares.take('a', 1, USER_OCTETS), undefined);
    assert.match(shares.take('b', 1, 1) ?? '', /may take 1 bytes .* its user may have 0 more/);
    assert.equal(shares.take('c', 2, USER_OCTETS), undefined);
    assert.equal(shares.take('d', 3, 3 * MIB), undefined);
    assert.match(shares.take('e', 4, 2 * MIB) ?? '', /all users but root may have 1048576 more/);
    assert.equal(shares.take('f', undefined, 100 * MIB), undefined, 'root has none but all of it');
  });

  it('may become less at any time, and then others are told that there is room', () => {
    const { shares, facts } = world();
    shares.take('a', 1, 3 * MIB);
    shares.take('b', 1, MIB);
    assert.equal(facts.freed, 0);
    assert.equal(shares.take('a', 1, 2 * MIB), undefined);
    assert.equal(facts.freed, 1);
    assert.equal(shares.take('b', 1, 2 * MIB), undefined);
    assert.match(shares.take('b', 1, 2 * MIB + 1) ?? '', /its user may have 2097152 more/);
    assert.equal(facts.freed, 1);
  });

  it('counts after it is told no more until no pod has a device of it', () => {
    const { shares, held, facts } = world();
    held.add('a').add('b');
    shares.take('a', 1, 2 * MIB);
    shares.take('b', 1, 2 * MIB);
    shares.leave('a');
    shares.leave('b');
    assert.match(shares.take('c', 1, 1) ?? '', /its user may have 0 more/);
    held.delete('a');
    shares.leave('a');
    assert.equal(shares.take('c', 1, MIB), undefined);
    held.delete('b');
    shares.ownersKnown();
    assert.equal(shares.take('c', 1, USER_OCTETS), undefined);
    assert.equal(facts.freed, 2);
  });

  it('goes over to the user whose plugin speaks for it now', () => {
    const { shares } = world();
    shares.take('a', 1, USER_OCTETS);
    assert.equal(shares.take('a', 2, USER_OCTETS), undefined);
    assert.equal(shares.take('b', 1, USER_OCTETS), undefined);
    assert.equal(shares.take('a', undefined, 0), undefined);
    assert.equal(shares.take('c', 2, USER_OCTETS), undefined);
  });
});
