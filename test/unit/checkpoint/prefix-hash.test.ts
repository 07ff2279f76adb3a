import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { PrefixHash } from '../../../src/checkpoint/prefix-hash.js';
import { seededRandom } from '../../support/seeded-random.js';

describe('the hash of one generation after the other', () => {
  it('is SHA-256, whatever was changed, added or cut off', () => {
    const random = seededRandom(7);
    const pick = (most: number): number => Math.floor(random.next() * most);
    const hash = new PrefixHash();
    let bytes: Buffer = Buffer.alloc(0);
    for (let nth = 0; nth < 200; nth += 1) {
      const at = pick(bytes.length + 1);
      const end = Math.min(bytes.length, at + pick(3) * pick(40_000));
      const more = Buffer.alloc(pick(3) * pick(50_000), nth);
      bytes = Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(end)]).subarray(0, 300_000);
      assert.equal(
        hash.of(bytes),
        createHash('sha256').update(bytes).digest('hex'),
        `of ${String(bytes.length)} bytes`,
      );
    }
    const whole = Buffer.alloc(64 * 1024, 1);
    for (const same of [whole, Buffer.from(whole), whole.subarray(0, 32 * 1024), Buffer.alloc(0)])
      assert.equal(hash.of(same), createHash('sha256').update(same).digest('hex'));
  });
});
