import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DescriptorReserve } from '../../../src/flood/descriptor-reserve.js';
import { FakeClock } from '../../support/fake-clock.js';

function world() {
  const clock = new FakeClock();
  const descriptors = { limit: 100, isScarce: false, areScarce: () => descriptors.isScarce };
  const told: (string | undefined)[] = [];
  const reserve = new DescriptorReserve({ descriptors, clock, degraded: (why) => told.push(why) });
  return { clock, descriptors, told, reserve };
}

void describe('the reserve of file descriptors', () => {
  void it('turns newcomers away while only it is left, and tells the beginning and the end once', async () => {
    const { clock, descriptors, told, reserve } = world();
    assert.equal(reserve.hasRoom(), true);
    descriptors.isScarce = true;
    for (let call = 0; call < 100; call++) assert.equal(reserve.hasRoom(), false);
    assert.equal(told.length, 1);
    assert.match(told[0] ?? '', /^file descriptors run out \(100 may be open\)/);
    descriptors.isScarce = false;
    assert.equal(reserve.hasRoom(), true, 'before it is told over');
    await clock.advance(60_000);
    assert.deepEqual(told.slice(1), [undefined]);
    assert.equal(clock.pending, 0);
  });

  void it('is not told over while somebody takes each descriptor that becomes free', async () => {
    const { clock, descriptors, told, reserve } = world();
    for (let second = 0; second < 60; second++) {
      descriptors.isScarce = true;
      reserve.hasRoom();
      descriptors.isScarce = false;
      await clock.advance(1000);
    }
    assert.equal(told.length, 1);
  });

  void it('tells once that accepting fails, however often the system says so', async () => {
    const { clock, told, reserve } = world();
    for (let call = 0; call < 1000; call++) reserve.acceptFailed(new Error('accept ENFILE'));
    assert.match(told.join(), /^connections cannot be accepted \(accept ENFILE\)/);
    assert.equal(told.length, 1);
    await clock.advance(60_000);
    assert.deepEqual(told.slice(1), [undefined]);
  });

  void it('is quiet once it is closed', () => {
    const { clock, descriptors, told, reserve } = world();
    descriptors.isScarce = true;
    reserve.hasRoom();
    reserve.close();
    assert.equal(reserve.hasRoom(), false);
    assert.deepEqual([told.length, clock.pending], [1, 0]);
  });
});
