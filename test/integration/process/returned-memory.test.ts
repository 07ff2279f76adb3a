import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownMemory } from '../../../src/platform/process/returned-memory.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';

const MIB = 1024 * 1024;

/** Lists as they are received: pieces of 16 KiB, and the whole. */
function lists(): readonly Buffer[] {
  return Array.from({ length: 4 }, (_, nth) =>
    Buffer.concat(Array.from({ length: 800 }, () => Buffer.allocUnsafeSlow(16 * 1024).fill(nth))),
  );
}

void describe('memory that nobody holds any more', () => {
  void it('is the system’s again', { skip: loadLibc() === undefined && 'koffi is not here' }, async () => {
    let held = lists();
    assert.equal(held.length, 4);
    const before = ownMemory.residentBytes() ?? 0;
    held = [];
    await new Promise((resolve) => setImmediate(resolve));
    ownMemory.collect();
    ownMemory.collect();
    const returned = (before - (ownMemory.residentBytes() ?? 0)) / MIB;
    assert.ok(returned > 40, `${returned.toFixed(0)} MiB of 50 were returned`);
  });
});
