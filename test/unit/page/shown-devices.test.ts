import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ListAndWatchResponse } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { DecodedLists } from '../../../src/inventory/decoded-lists.js';
import type { Device } from '../../../src/model/device.js';
import { PageDevices, troubledFirst, troubledFirstInTurns } from '../../../src/page/shown-devices.js';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { devicesInTurns, devicesOf } from '../../../src/platform/wire/list-decoder.js';
import { FakeClock } from '../../support/fake-clock.js';
import { countTurns } from '../../support/turns.js';

const COUNT = 20_000;
/** Each hundredth cannot be given out. */
const LONG = ListAndWatchResponse.encode({
  devices: Array.from({ length: COUNT }, (_, n) => ({
    id: `d${String(n)}`,
    health: n % 100 === 99 ? 'Sick' : 'Healthy',
  })),
});

function bed() {
  const clock = new FakeClock();
  const seen = { atOnce: 0, inTurns: 0, viewed: 0 };
  const devices = new PageDevices({
    lists: new DecodedLists({
      decode: (raw) => {
        seen.atOnce += 1;
        return troubledFirst(devicesOf(raw));
      },
      decodeInTurns: async (raw) => {
        seen.inTurns += 1;
        return troubledFirstInTurns(await devicesInTurns(raw), nextTurn);
      },
      clock,
    }),
    listOf: (resource) => (resource === 'v/long' ? LONG : undefined),
    viewOf: () => (device: Device) => {
      seen.viewed += 1;
      return { ...device, lease: '', owner: '' };
    },
  });
  return { clock, seen, devices };
}

describe('the devices of a resource on the page', () => {
  it('are made in many turns, once for all readers, and only those are worked out that are shown', async () => {
    const { seen, devices } = bed();
    const asking = Array.from({ length: 16 }, () => Promise.resolve(devices.of('v/long')));
    const { made: all, turns } = await countTurns(() => Promise.all(asking));
    assert.ok(turns > COUNT / 1500, `${String(turns)} turns`);
    for (const shown of all) assert.equal(shown?.total, COUNT);
    const page = all[0]?.slice(198, 202).map(({ id, health }) => [id, health]);
    assert.deepEqual(page, [
      ['d19899', 'Sick'],
      ['d19999', 'Sick'],
      ['d0', 'Healthy'],
      ['d1', 'Healthy'],
    ]);
    assert.deepEqual(seen, { atOnce: 0, inTurns: 1, viewed: 4 });
  });

  it('are kept for the next readers, and let go when nobody comes', async () => {
    const { clock, seen, devices } = bed();
    await devices.of('v/long');
    await devices.of('v/long');
    assert.equal(seen.inTurns, 1);
    await clock.advance(61_000);
    await devices.of('v/long');
    assert.deepEqual([seen.inTurns, seen.atOnce], [2, 0]);
  });

  it('are none where there is no such resource', () => {
    assert.equal(bed().devices.of('v/other'), undefined);
  });
});
