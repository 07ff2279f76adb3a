import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Device } from '../../../../src/model/device.js';
import { readDevices } from '../../../../src/platform/wire/device-list-reader.js';
import { decodeDeviceList, hashDeviceList, type Slicing } from '../../../../src/platform/wire/device-list.js';
import { ListAndWatchResponse } from '../../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';

const never = new AbortController().signal;
/** Counts how often others would have had their turn. */
class Turns implements Slicing {
  readonly signal = never;
  taken = 0;
  readonly yieldTurn = (): Promise<void> => {
    this.taken++;
    return Promise.resolve();
  };
}
const unhurried: Slicing = { yieldTurn: () => Promise.resolve(), signal: never };
const one = (id: string, health = 'Healthy', nodes?: number[]): object => ({
  id,
  health,
  topology: nodes === undefined ? undefined : { nodes: nodes.map((node) => ({ id: node })) },
});
const bytesOf = (...devices: object[]): Buffer => ListAndWatchResponse.encode({ devices });

/** A list in both forms, its sum and its devices, which agree on how many there are. */
interface Read {
  readonly devices: readonly Device[];
  readonly healthy: number;
  readonly duplicates: readonly string[];
}

async function list(bytes: Buffer): Promise<Read> {
  const verdict = await decodeDeviceList(bytes, 1_000_000, unhurried);
  assert.ok(verdict.ok, verdict.ok ? '' : verdict.message);
  const devices = readDevices(bytes);
  assert.equal(verdict.summary.devices, devices.length);
  return { ...verdict.summary, devices };
}

async function refusal(bytes: Buffer, maxDevices = 1_000_000): Promise<{ tooLarge: boolean; message: string }> {
  const verdict = await decodeDeviceList(bytes, maxDevices, unhurried);
  assert.ok(!verdict.ok);
  return verdict;
}

describe('a device list', () => {
  it('is what the plugin sent', async () => {
    assert.deepEqual(await list(bytesOf(one('a'), one('b', 'Unhealthy', [0]), one('c', 'Odd', [1, 0, -1]))), {
      devices: [
        { id: 'a', health: 'Healthy', numaNodes: [] },
        { id: 'b', health: 'Unhealthy', numaNodes: [0] },
        { id: 'c', health: 'Odd', numaNodes: [1, 0, -1] },
      ],
      healthy: 1,
      duplicates: [],
    });
  });

  it('is empty for an empty message', async () => {
    assert.deepEqual(await list(Buffer.alloc(0)), { devices: [], healthy: 0, duplicates: [] });
  });

  it('is the same as the codec reads, for any devices with ids of their own', async () => {
    const device = fc.record({
      id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      health: fc.constantFrom('Healthy', 'Unhealthy', 'healthy', '', 'Wéird'),
      topology: fc.option(fc.record({ nodes: fc.array(fc.record({ id: fc.maxSafeInteger() }), { maxLength: 3 }) }), {
        nil: undefined,
      }),
    });
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(device, { selector: ({ id }) => id, maxLength: 20 }), async (devices) => {
        const read = await list(bytesOf(...devices));
        assert.deepEqual(
          read.devices,
          devices.map(({ id, health, topology }) => ({
            id,
            health,
            numaNodes: topology?.nodes.map((node) => node.id) ?? [],
          })),
        );
        assert.equal(read.healthy, devices.filter(({ health }) => health === 'Healthy').length);
      }),
    );
  });

  it('takes the last of repeated ids and names up to ten of them', async () => {
    const twice = await list(bytesOf(one('x'), one('y'), one('x', 'Unhealthy')));
    assert.deepEqual(
      twice.devices.map(({ id, health }) => `${id} ${health}`),
      ['x Unhealthy', 'y Healthy'],
    );
    assert.deepEqual([twice.healthy, twice.duplicates], [1, ['x']]);
    const many = Array.from({ length: 40 }, (_, index) => one(`id ${String(index % 20)}`));
    assert.equal((await list(bytesOf(...many))).duplicates.length, 10);
  });

  it('has the sum of its devices, whatever ids are repeated and however often', async () => {
    const id = fc.oneof(
      fc.constantFrom('a', 'b', '0', '00', 'é', 'ë', '\u0000', '\u0000\u0000', '日本', '😀', 'x'.repeat(256)),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
    );
    const sent = fc.array(fc.tuple(id, fc.constantFrom('Healthy', 'Unhealthy', 'healthy', '')), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sent, async (devices) => {
        const read = await list(bytesOf(...devices.map(([name, health]) => one(name, health))));
        const last = new Map(devices);
        const repeated = new Set(devices.map(([name]) => name).filter((name, at, all) => all.indexOf(name) < at));
        assert.deepEqual(
          read.devices.map((device) => [device.id, device.health]),
          [...last],
        );
        assert.equal(read.healthy, [...last.values()].filter((health) => health === 'Healthy').length);
        assert.deepEqual(read.duplicates, [...repeated].slice(0, 10));
      }),
    );
  });

  it('counts the last entry of a repeated id, each time it changes', async () => {
    const healths = ['Healthy', 'Unhealthy', 'Healthy', 'Healthy', 'Sick', 'Healthy'];
    for (let entries = 1; entries <= healths.length; entries++) {
      const read = await list(bytesOf(...healths.slice(0, entries).map((health) => one('x', health)), one('y')));
      assert.equal(read.healthy, healths[entries - 1] === 'Healthy' ? 2 : 1);
      assert.deepEqual(read.duplicates, entries > 1 ? ['x'] : []);
    }
  });

  it('has no NUMA nodes of the devices before', async () => {
    const { devices } = await list(bytesOf(one('a', '', [1, 2, 3]), one('b'), one('c', '', [4]), one('d', '', [])));
    assert.deepEqual(
      devices.map(({ numaNodes }) => numaNodes),
      [[1, 2, 3], [], [4], []],
    );
  });

  it('takes the last of fields that one device has twice', async () => {
    const device = Buffer.from('0a0161' + '12074865616c746879' + '0a0162' + '12026e6f', 'hex');
    const read = await list(Buffer.concat([Buffer.from([0x0a, device.length]), device]));
    assert.deepEqual(read, { devices: [{ id: 'b', health: 'no', numaNodes: [] }], healthy: 0, duplicates: [] });
  });

  it('takes ids that are traps in JavaScript', async () => {
    const ids = ['__proto__', 'constructor', 'toString', 'ü'];
    assert.deepEqual(
      (await list(bytesOf(...ids.map((id) => one(id))))).devices.map(({ id }) => id),
      ids,
    );
  });

  it('keeps no more than 64 bytes of a health text, never half a character', async () => {
    const [device] = (await list(bytesOf(one('a', `${'x'.repeat(63)}é`)))).devices;
    assert.equal(device?.health, 'x'.repeat(63));
  });

  it('skips fields it does not know, in the list and in devices', async () => {
    const device = Buffer.from('0a0161' + '2a0178' + '3001' + '12074865616c746879', 'hex');
    const bytes = Buffer.concat([Buffer.from('120178', 'hex'), Buffer.from([0x0a, device.length]), device]);
    assert.deepEqual((await list(bytes)).devices, [{ id: 'a', health: 'Healthy', numaNodes: [] }]);
  });

  it('merges a topology that was sent in two parts', async () => {
    const device = Buffer.from('0a0161' + '1a040a020801' + '1a040a020802', 'hex');
    assert.deepEqual(
      (await list(Buffer.concat([Buffer.from([0x0a, device.length]), device]))).devices[0]?.numaNodes,
      [1, 2],
    );
  });

  it('is refused with the number of the device that is wrong', async () => {
    const bad = bytesOf(one('a'), one('bb'));
    bad[bad.indexOf('bb')] = 0xff;
    assert.deepEqual(await refusal(bad), {
      ok: false,
      tooLarge: false,
      message: 'device 2 of the list is invalid: its id is not valid UTF-8',
    });
    assert.match((await refusal(bytesOf(one('a'), one('')))).message, /device 2 .* its id is empty/);
    assert.match((await refusal(bytesOf(one('x'.repeat(257))))).message, /device 1 .* its id is longer than 256 bytes/);
    assert.equal((await list(bytesOf(one('x'.repeat(256))))).devices.length, 1);
    assert.match((await refusal(bytesOf(one('x', 'y'.repeat(70_000))))).message, /device 1 .* it takes 70\d+ bytes/);
    const health = bytesOf(one('a', 'Sick'));
    health[health.indexOf('Sick')] = 0xff;
    assert.match((await refusal(health)).message, /its health is not valid UTF-8/);
    assert.match((await refusal(bad.subarray(0, bad.length - 1))).message, /device 2 .* claims more bytes/);
  });

  it('is refused as too large past the cap, repeated ids counted', async () => {
    const bytes = bytesOf(one('a'), one('a'), one('a'));
    assert.deepEqual(await refusal(bytes, 2), {
      ok: false,
      tooLarge: true,
      message: 'the list has more than 2 devices (admission.maxDevices)',
    });
    assert.equal((await decodeDeviceList(bytes, 3, unhurried)).ok, true);
  });

  it('is never more than a sentence for damaged bytes', async () => {
    const good = bytesOf(one('a', 'Healthy', [1]), one('bbbb', 'Unhealthy'), one('cc'));
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), async (at, byte, cut) => {
        const bytes = Buffer.from(good.subarray(0, cut));
        if (at < cut) bytes[at] = byte;
        const verdict = await decodeDeviceList(bytes, 10, unhurried);
        assert.ok(verdict.ok || verdict.message.length > 10);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a long device list', () => {
  const devices = Array.from({ length: 20_000 }, (_, index) => one(`device-${String(index)}`, 'Healthy', [index % 2]));
  const long = bytesOf(...devices);

  it('lets others have their turn while it is read and hashed, and a short one does not', async () => {
    const slicing = new Turns();
    const verdict = await decodeDeviceList(long, 20_000, slicing);
    assert.ok(verdict.ok && verdict.summary.devices === 20_000 && verdict.summary.healthy === 20_000);
    assert.ok(slicing.taken >= 10, `only ${String(slicing.taken)} turns`);
    slicing.taken = 0;
    await hashDeviceList(Buffer.alloc(4 * 1024 * 1024), slicing);
    assert.ok(slicing.taken >= 4, `only ${String(slicing.taken)} turns`);
    slicing.taken = 0;
    await decodeDeviceList(bytesOf(one('a')), 1, slicing);
    await hashDeviceList(Buffer.alloc(1000), slicing);
    assert.equal(slicing.taken, 0);
  });

  it('is dropped when the signal aborts', async () => {
    const controller = new AbortController();
    const slicing: Slicing = {
      yieldTurn: () => {
        controller.abort(new Error('stop'));
        return Promise.resolve();
      },
      signal: controller.signal,
    };
    await assert.rejects(decodeDeviceList(long, 20_000, slicing), /stop/);
    await assert.rejects(hashDeviceList(Buffer.alloc(4 * 1024 * 1024), slicing), /stop/);
  });

  it('lets others have their turn between unknown fields too, by their bytes and not at every few', async () => {
    const slicing = new Turns();
    await decodeDeviceList(Buffer.alloc(1024 * 1024, '1001', 'hex'), 1, slicing);
    assert.equal(slicing.taken, 7);
  });

  it('has the sha256 of its bytes, however it is sliced', async () => {
    for (const size of [0, 1, 512 * 1024, 512 * 1024 + 1, 3_000_000]) {
      const bytes = Buffer.alloc(size, 7);
      assert.equal(await hashDeviceList(bytes, unhurried), createHash('sha256').update(bytes).digest('hex'));
    }
  });
});
