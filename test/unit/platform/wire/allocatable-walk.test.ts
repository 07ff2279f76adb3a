import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AllocatableResourcesResponse,
  ContainerDevices,
} from '../../../../src/generated/proto/podresources/v1/podresources.js';
import { AllocatableWalk, MAX_PART_BYTES } from '../../../../src/platform/wire/allocatable-walk.js';
import type { AllocatablePart } from '../../../../src/podresources/ports.js';

type Answer = ReturnType<typeof AllocatableResourcesResponse.decode>;

function walked(bytes: Buffer): { parts: readonly AllocatablePart[]; slices: number } {
  const walk = new AllocatableWalk(bytes);
  let slices = 1;
  while (!walk.readSlice()) slices += 1;
  return { parts: walk.parts, slices };
}

const joined = (parts: readonly AllocatablePart[]): Answer =>
  AllocatableResourcesResponse.decode(Buffer.concat(parts.map(({ bytes }) => bytes)));

/** A field of type 2: its tag, its length and its bytes. */
const field = (number: number, bytes: Buffer): Buffer => {
  const { length } = bytes;
  const head = length < 128 ? [length] : [(length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...head]), bytes]);
};
const nodes = (...ids: number[]) => ({ nodes: ids.map((id) => ({ id })) });

describe('an answer to GetAllocatableResources in parts', () => {
  it('has all that the answer has, in its order, by resource and 64 KiB at most', () => {
    const devices = ['v/a', 'v/b', 'v/a'].flatMap((resourceName) =>
      Array.from({ length: 5000 }, (_, n) => ({ resourceName, deviceIds: [`dé-${String(n)}`], topology: nodes(0, 1) })),
    );
    const bytes = AllocatableResourcesResponse.encode({
      devices: [...devices, { resourceName: 'v/none' }],
      cpuIds: [0, 1, 300],
      memory: [{ memoryType: 'memory', size: 2 ** 40, topology: nodes(0) }],
    });
    const { parts, slices } = walked(bytes);
    assert.deepEqual(joined(parts), AllocatableResourcesResponse.decode(bytes));
    for (const { bytes: part, resource, hasIds } of parts) {
      assert.ok(part.length <= MAX_PART_BYTES);
      const { devices: some } = AllocatableResourcesResponse.decode(part);
      assert.deepEqual(
        new Set(some.map(({ resourceName }) => resourceName)),
        new Set(resource === '' ? [] : [resource]),
      );
      assert.equal(hasIds, resource.startsWith('v/') && resource !== 'v/none');
    }
    assert.ok(parts.length < 20, String(parts.length));
    assert.ok(slices > devices.length / 2000, String(slices));
  });

  it('has entries of some devices each where one entry has them all', () => {
    const deviceIds = Array.from({ length: 100_000 }, (_, n) => `device-${String(n)}`);
    const entry = { resourceName: 'v/many', deviceIds, topology: nodes(3) };
    const bytes = AllocatableResourcesResponse.encode({
      devices: [{ resourceName: 'v/a', deviceIds: ['a'] }, entry, entry],
    });
    const { parts, slices } = walked(bytes);
    const [first, ...others] = joined(parts).devices;
    assert.deepEqual([first?.resourceName, first?.deviceIds], ['v/a', ['a']]);
    assert.deepEqual(
      others.flatMap((one) => one.deviceIds),
      [...deviceIds, ...deviceIds],
    );
    for (const { resourceName, topology } of others) assert.deepEqual([resourceName, topology], ['v/many', nodes(3)]);
    assert.ok(parts.every((part) => part.bytes.length <= MAX_PART_BYTES && part.hasIds));
    assert.ok(slices > 20, String(slices));
  });

  it('is refused where clients would refuse it, or where it is none', () => {
    const entry = (bytes: Buffer): Buffer => field(1, bytes);
    const name = field(1, Buffer.from('v/a'));
    const wrong: readonly (readonly [string, Buffer, RegExp])[] = [
      ['text', Buffer.from('<html><body>no kubelet</body></html>'), /AllocatableResourcesResponse/],
      [
        'cut',
        AllocatableResourcesResponse.encode({ devices: [{ resourceName: 'v/a', deviceIds: ['a'] }] }).subarray(0, -1),
        /claims more bytes/,
      ],
      ['cut in an entry', entry(field(2, Buffer.from('abc')).subarray(0, -1)), /ContainerDevices claims more bytes/],
      ['an id', entry(Buffer.concat([name, field(2, Buffer.from([0xff]))])), /not valid UTF-8/],
      ['a name', entry(field(1, Buffer.from([0xff]))), /not valid UTF-8/],
      ['a place', entry(field(3, field(1, Buffer.from([0x08])))), /NUMANode/],
      ['memory', field(3, field(1, Buffer.from([0xff]))), /UTF-8/],
      ['a long id', entry(field(2, Buffer.alloc(70_000, 'a'))), /an id of more than/],
      ['a long name', entry(Buffer.concat([field(1, Buffer.alloc(70_000, 'a'))])), /beside ids/],
      ['a long field', field(7, Buffer.alloc(70_000)), /field 7 of/],
      ['a group', Buffer.from([0x3b, 0x3c]), /framing/],
    ];
    for (const [what, bytes, why] of wrong) assert.throws(() => walked(bytes), why, what);
    const [one, other] = ['v/a', 'v/b'].map((resourceName) =>
      entry(ContainerDevices.encode({ resourceName, deviceIds: ['a'] })),
    ) as [Buffer, Buffer];
    const turns = Buffer.concat(Array.from({ length: 20_000 }, (_, n) => (n % 2 === 0 ? one : other)));
    assert.throws(() => walked(turns), /goes from one resource to another/);
  });
});
