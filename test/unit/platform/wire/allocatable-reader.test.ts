import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AllocatableResourcesResponse } from '../../../../src/generated/proto/podresources/v1/podresources.js';
import { AllocatableReader } from '../../../../src/platform/wire/allocatable-reader.js';
import { WireError } from '../../../../src/platform/wire/wire-error.js';

/** What a reader finds, and in how many slices. */
function read(bytes: Buffer): { readonly resources: readonly string[]; readonly slices: number } {
  const reader = new AllocatableReader(bytes);
  let slices = 1;
  while (!reader.readSlice()) slices++;
  return { resources: [...reader.resources], slices };
}

describe('the resources of a node, of an answer to GetAllocatableResources', () => {
  it('are those that have a device, each once, beside processors and memory', () => {
    const topology = { nodes: [{ id: 1 }] };
    const bytes = AllocatableResourcesResponse.encode({
      devices: [
        { resourceName: 'example.com/a', deviceIds: ['0'], topology },
        { resourceName: 'example.com/a', deviceIds: ['1'], topology },
        { resourceName: 'example.com/none', deviceIds: [] },
        { resourceName: 'example.com/b', deviceIds: ['0', '1', '2'] },
      ],
      cpuIds: [0, 1],
    });
    assert.deepEqual(read(bytes).resources, ['example.com/a', 'example.com/b']);
    assert.deepEqual(read(Buffer.alloc(0)).resources, []);
  });

  it('are read slice by slice where a kubelet names 100,000 devices one by one', () => {
    const devices = Array.from({ length: 100_000 }, (_, nth) => ({
      resourceName: 'example.com/a',
      deviceIds: [`device-${String(nth)}`],
    }));
    const { resources, slices } = read(AllocatableResourcesResponse.encode({ devices }));
    assert.deepEqual(resources, ['example.com/a']);
    assert.ok(slices >= 40, `${String(slices)} slices`);
  });

  it('are none of an answer that is cut off', () => {
    const bytes = AllocatableResourcesResponse.encode({
      devices: [{ resourceName: 'example.com/a', deviceIds: ['0'] }],
    });
    assert.throws(() => read(bytes.subarray(0, 8)), WireError);
  });
});
