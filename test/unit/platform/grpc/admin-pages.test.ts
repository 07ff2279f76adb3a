import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { pages, ResourceJoiner, resourcePages } from '../../../../src/platform/grpc/admin-pages.js';
import type { ResourceView } from '../../../../src/model/views.js';
import { resourceView } from '../../../support/fake-admin-port.js';

function devices(count: number): ResourceView['devices'] {
  return Array.from({ length: count }, (_, index) => ({
    id: `device-${index}-${'x'.repeat(40)}`,
    health: 'Healthy',
    numaNodes: [index % 2],
    lease: '',
    owner: '',
  }));
}

describe('pages', () => {
  it('keep every item, in order, and none is empty', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(600_000), { maxLength: 60 }), (sizes) => {
        const made = [...pages(sizes, (size) => size)];
        assert.deepEqual(made.flat(), sizes);
        assert.ok(made.every((page) => page.length > 0));
      }),
    );
  });

  it('are below 4 MiB as messages unless one item is larger', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300_000), { maxLength: 60 }), (sizes) => {
        for (const page of pages(sizes, (size) => size)) {
          assert.ok(page.length === 1 || page.reduce((sum, size) => sum + size, 0) <= 512 * 1024);
        }
      }),
    );
  });
});

describe('resourcePages', () => {
  it('spread the devices of one resource over several pages, and a joiner puts them together again', () => {
    const given = [
      resourceView({ name: 'a.io/none', devices: [] }),
      resourceView({ name: 'a.io/many', devices: devices(30_000) }),
      resourceView({ name: 'a.io/few', devices: devices(3) }),
    ];
    const made = [...resourcePages(given, false)];
    assert.ok(made.length > 3, String(made.length));
    const joiner = new ResourceJoiner();
    for (const part of made.flat()) joiner.add(part);
    assert.deepEqual(joiner.resources(), given);
  });

  it('do not ask for devices that shall be left out', () => {
    const lazy = {
      ...resourceView(),
      get devices(): ResourceView['devices'] {
        throw new Error('asked for');
      },
    };
    assert.deepEqual([...resourcePages([lazy], true)].flat()[0]?.devices, []);
  });
});
