import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { DEVICE_SIM_OPTIONS, type DeviceSimOptions } from '../../../src/sim/device/options.js';
import { devicePluginService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { RunningSim } from '../../support/running-sim.js';
import { TestRegistry } from './test-registry.js';

const { Allocate, GetPreferredAllocation, PreStartContainer } = devicePluginService;

/** A value as the command line makes it of its texts, one after the other. */
function said(key: keyof DeviceSimOptions, ...texts: string[]): unknown {
  const option = DEVICE_SIM_OPTIONS.find((one) => one.key === key);
  return texts.reduce<unknown>((before, text) => option?.parse?.(text, before), option?.default);
}

async function withSim(
  given: Partial<DeviceSimOptions>,
  work: (sim: RunningSim, registry: TestRegistry) => Promise<void>,
): Promise<void> {
  const dir = tempDir();
  const registry = await TestRegistry.start(dir);
  const sim = new RunningSim(dir, given);
  try {
    await sim.saw('registered');
    await work(sim, registry);
  } finally {
    await sim.stop();
    await registry.stop();
  }
}

const asked = (...ids: string[]) => ({ containerRequests: [{ devicesIds: ids }] });

describe('a simulated device plugin whose devices are given away', () => {
  it('answers with one variable that names them, if nothing else is said', () =>
    withSim({}, async (sim, registry) => {
      const answer = await registry.ask(sim.socket, Allocate, asked('dev-0', 'dev-1'));
      assert.deepEqual(answer.containerResponses, [
        {
          envs: new Map([['SIM_DEVICES', 'dev-0,dev-1']]),
          mounts: [],
          devices: [],
          annotations: new Map(),
          cdiDevices: [],
        },
      ]);
      assert.deepEqual(sim.of('called').at(-1)?.['devices'], ['dev-0', 'dev-1']);
    }));

  it('answers with the variables, nodes, mounts, annotations and CDI names it was told, one for each id where it says {id}', () =>
    withSim(
      {
        allocateEnv: said('allocateEnv', 'ACC={ids}', 'TOKEN=a=b-{n}'),
        allocateDevice: said('allocateDevice', '/dev/null:/dev/acc/{id}:rw', '/dev/zero'),
        allocateMount: said('allocateMount', '/opt/acc:/usr/lib/acc:ro', '/run/{id}'),
        allocateCdi: said('allocateCdi', 'vendor.example/acc={id}', 'vendor.example/acc=all'),
        allocateAnnotation: said('allocateAnnotation', 'vendor.example/ids={ids}'),
      } as Partial<DeviceSimOptions>,
      async (sim, registry) => {
        await registry.ask(sim.socket, Allocate, asked('dev-1'));
        const answer = await registry.ask(sim.socket, Allocate, asked('dev-0', 'dev-1'));
        assert.deepEqual(answer.containerResponses[0], {
          envs: new Map([
            ['ACC', 'dev-0,dev-1'],
            ['TOKEN', 'a=b-2'],
          ]),
          devices: [
            { hostPath: '/dev/null', containerPath: '/dev/acc/dev-0', permissions: 'rw' },
            { hostPath: '/dev/null', containerPath: '/dev/acc/dev-1', permissions: 'rw' },
            { hostPath: '/dev/zero', containerPath: '/dev/zero', permissions: '' },
          ],
          mounts: [
            { hostPath: '/opt/acc', containerPath: '/usr/lib/acc', readOnly: true },
            { hostPath: '/run/dev-0', containerPath: '/run/dev-0', readOnly: false },
            { hostPath: '/run/dev-1', containerPath: '/run/dev-1', readOnly: false },
          ],
          annotations: new Map([['vendor.example/ids', 'dev-0,dev-1']]),
          cdiDevices: [
            { name: 'vendor.example/acc=dev-0' },
            { name: 'vendor.example/acc=dev-1' },
            { name: 'vendor.example/acc=all' },
          ],
        });
      },
    ));

  it('refuses ids that it does not have, in Allocate and PreStartContainer', () =>
    withSim({}, async (sim, registry) => {
      const refused = { code: status.UNKNOWN, details: 'unknown device: dev-9' };
      await assert.rejects(registry.ask(sim.socket, Allocate, asked('dev-0', 'dev-9')), refused);
      await assert.rejects(registry.ask(sim.socket, PreStartContainer, { devicesIds: ['dev-9'] }), refused);
      await registry.ask(sim.socket, PreStartContainer, { devicesIds: ['dev-1'] });
      assert.deepEqual(sim.of('called').at(-1)?.['devices'], ['dev-1']);
    }));

  it('prefers what must be included, then one end of what is on offer', () =>
    withSim({ prefer: 'last' }, async (sim, registry) => {
      const answer = await registry.ask(sim.socket, GetPreferredAllocation, {
        containerRequests: [
          { availableDeviceIds: ['a', 'b', 'c'], mustIncludeDeviceIds: ['a'], allocationSize: 2 },
          { availableDeviceIds: ['a', 'b', 'c'], allocationSize: 2 },
        ],
      });
      assert.deepEqual(
        answer.containerResponses.map(({ deviceIds }) => deviceIds),
        [
          ['a', 'c'],
          ['c', 'b'],
        ],
      );
    }));

  it('answers with nothing, with garbage, late or not at all when it is told so', () =>
    withSim(
      {
        fault: said('fault', 'Allocate=empty@1', 'PreStartContainer=garbage', 'GetPreferredAllocation=never'),
      } as Partial<DeviceSimOptions>,
      async (sim, registry) => {
        assert.deepEqual((await registry.ask(sim.socket, Allocate, asked('dev-0'))).containerResponses, []);
        assert.equal((await registry.ask(sim.socket, Allocate, asked('dev-0'))).containerResponses.length, 1);
        await assert.rejects(registry.ask(sim.socket, PreStartContainer, {}), { code: status.INTERNAL });
        await assert.rejects(registry.ask(sim.socket, GetPreferredAllocation, {}, 200), {
          code: status.DEADLINE_EXCEEDED,
        });
      },
    ));
});

describe('the options of sim device about Allocate', () => {
  it('is refused with a sentence when it cannot be meant', () => {
    assert.throws(() => said('allocateEnv', 'NAME'), /NAME is no NAME=VALUE/);
    assert.throws(() => said('allocateDevice', '/dev/x:/dev/y:rx'), /rx in .* is none of permissions/);
    assert.throws(() => said('allocateMount', '/a:/b:rw:x'), /is no HOST/);
    assert.throws(() => said('allocateMount', ':/b'), /is no HOST/);
  });
});
