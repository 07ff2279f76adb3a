import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ShownResource } from '../../../../src/admin/plugin-views.js';
import { ListAndWatchResponse } from '../../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { pages, ResourceJoiner, resourcePages, type ResourcePart } from '../../../../src/platform/grpc/admin-pages.js';
import { partsOf } from '../../../../src/platform/wire/list-decoder.js';
import type { ResourceView } from '../../../../src/model/views.js';
import { inParts, resourceView } from '../../../support/fake-admin-port.js';
import { countTurns } from '../../../support/turns.js';

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

/** As the broker has it: with a list that is decoded when somebody reads its devices. */
const listed = (view: ResourceView): ShownResource => ({ ...view, devices: () => inParts(view.devices) });

async function pagesOf(
  resources: readonly ShownResource[],
  omitDevices: boolean,
): Promise<(readonly ResourcePart[])[]> {
  const made: (readonly ResourcePart[])[] = [];
  for await (const page of resourcePages(resources, omitDevices)) made.push(page);
  return made;
}

describe('resourcePages', () => {
  it('spread the devices of one resource over several pages, and a joiner puts them together again', async () => {
    const given = [
      resourceView({ name: 'a.io/none', devices: [] }),
      resourceView({ name: 'a.io/many', devices: devices(30_000) }),
      resourceView({ name: 'a.io/few', devices: devices(3) }),
    ];
    const made = await pagesOf(given.map(listed), false);
    assert.ok(made.length > 3, String(made.length));
    const joiner = new ResourceJoiner();
    for (const part of made.flat()) joiner.add(part);
    assert.deepEqual(joiner.resources(), given);
  });

  it('do not ask for devices that shall be left out', async () => {
    const lazy: ShownResource = {
      ...resourceView(),
      devices: () => {
        throw new Error('asked for');
      },
    };
    assert.deepEqual((await pagesOf([lazy], true)).flat()[0]?.devices, []);
  });

  it('have few devices of a long list in each turn, from its bytes to the pages', async () => {
    const COUNT = 20_000;
    const raw = ListAndWatchResponse.encode({
      devices: devices(COUNT).map(({ id, health }) => ({ id, health })),
    });
    const shown = async function* (): AsyncGenerator<ResourceView['devices']> {
      for await (const part of partsOf(raw)) yield part.map((device) => ({ ...device, lease: '', owner: '' }));
    };
    const { made, turns } = await countTurns(() => pagesOf([{ ...resourceView(), devices: shown }], false));
    assert.equal(made.flat().flatMap((part) => part.devices).length, COUNT);
    const most = Math.max(...made.map((page) => page.reduce((sum, part) => sum + part.devices.length, 0)));
    assert.ok(most <= 2000, `${String(most)} devices in one page`);
    assert.ok(turns > COUNT / 1000, `${String(turns)} turns`);
  });
});
