import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { returnMemory } from '../../../../src/platform/process/returned-memory.js';
import { FakeClock } from '../../../support/fake-clock.js';

const MIB = 1024 * 1024;

void describe('memory that nobody needs', () => {
  void it('is given back when the process has grown, once a minute at most', async () => {
    const clock = new FakeClock();
    let [mib, needed, collections] = [100, 60, 0];
    let isShort = false;
    const end = returnMemory({
      clock,
      residentBytes: () => (isShort ? undefined : mib * MIB),
      collect: () => {
        collections += 1;
        mib = needed;
      },
    });
    mib = 70;
    await clock.advance(15_000);
    isShort = true;
    await clock.advance(15_000);
    isShort = false;
    await clock.advance(60_000);
    mib = 85;
    await clock.advance(60_000);
    assert.equal(collections, 0, 'too little');
    mib = 86;
    await clock.advance(15_000);
    assert.deepEqual([collections, mib], [1, 60]);
    [mib, needed] = [100, 90];
    await clock.advance(45_000);
    assert.equal(collections, 1, 'too soon');
    await clock.advance(15_000);
    assert.deepEqual([collections, mib], [2, 90]);
    await clock.advance(600_000);
    assert.equal(collections, 2, 'what is needed stays');
    mib = 200;
    end();
    await clock.advance(600_000);
    assert.equal(collections, 2);
  });
});
