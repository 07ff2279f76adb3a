import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { devicePluginService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import type { DeviceSimOptions } from '../../../src/sim/device/options.js';
import { parseFault } from '../../../src/sim/device/faults.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';
import { RunningSim } from '../../support/running-sim.js';
import { TestRegistry, type SeenStream } from './test-registry.js';

const { GetDevicePluginOptions, Allocate } = devicePluginService;

/** Runs a plugin that serves to one stream, and ends both. */
async function withStream(
  given: Partial<DeviceSimOptions>,
  work: (stream: SeenStream, sim: RunningSim, registry: TestRegistry) => Promise<void>,
): Promise<void> {
  const registry = new TestRegistry('');
  const sim = new RunningSim(tempDir(), { ...given, door: 'watcher' });
  await sim.saw('serving');
  try {
    await work(registry.watch(sim.socket), sim, registry);
  } finally {
    await registry.stop();
    await sim.stop();
  }
}

/** The unhealthy devices of each list, in order. */
const sick = (stream: SeenStream): string[] =>
  stream.lists.map(({ devices }) =>
    devices
      .filter(({ health }) => health !== 'Healthy')
      .map(({ id }) => id)
      .join(),
  );

/** Whether the words follow each other as they do in an endless repetition of `cycle`. */
function goesRound(words: readonly string[], cycle: readonly string[]): boolean {
  const start = cycle.indexOf(words[0] ?? '');
  return start >= 0 && words.every((word, index) => word === cycle[(start + index) % cycle.length]);
}

describe('the lists of a simulated device plugin', () => {
  it('change health as often as it flaps', async () => {
    await withStream({ flap: 5, flapDevices: 2, devices: 3 }, async (stream) => {
      // A list that has not left is replaced by the next one: on a busy machine two flaps may be none.
      const changes = (): readonly string[] => sick(stream).filter((word, index, all) => word !== all[index - 1]);
      await eventually('four changes', () => changes().length >= 4);
      assert.ok(goesRound(changes(), ['', 'dev-0,dev-1']), String(changes()));
    });
  });

  it('are all different, or all equal, at a pace', async () => {
    await withStream({ updateEvery: 5, devices: 2 }, async (stream, sim) => {
      await eventually('five lists', () => stream.lists.length >= 5);
      await eventually('each of them', () => new Set(sick(stream)).size === 3);
      assert.deepEqual([...new Set(sick(stream))].sort(), ['', 'dev-0', 'dev-1']);
      assert.equal(new Set(sim.of('list-sent').map(({ healthy }) => healthy)).size, 2);
    });
    await withStream({ updateEvery: 5, updates: 'equal', unhealthy: 1 }, async (stream) => {
      await eventually('five lists', () => stream.lists.length >= 5);
      assert.equal(new Set(stream.lists.map((list) => JSON.stringify(list))).size, 1);
    });
  });

  it('flood as fast as the reader takes them, and no faster', async () => {
    await withStream({ updateEvery: 0, devices: 5_000 }, async (stream, sim) => {
      await eventually('many lists', () => stream.lists.length > 20);
      stream.pause();
      const sent = (): number => sim.of('list-sent').reduce((sum, { more }) => sum + Number(more ?? 1), 0);
      let before = -1;
      await eventually(
        'the flood to stand',
        () => {
          const now = sent();
          const stands = now === before;
          before = now;
          return stands;
        },
        { everyMs: 1_200 },
      );
      stream.resume();
      const taken = stream.lists.length;
      await eventually('the flood to go on', () => stream.lists.length > taken + 20);
    });
  });

  it('may be huge, with ids as long as wanted', async () => {
    await withStream({ devices: 100_000, idBytes: 60 }, async (stream) => {
      await eventually('the list', () => stream.lists.length === 1);
      assert.equal(stream.lists[0]?.devices.length, 100_000);
      assert.equal(stream.lists[0].devices[0]?.id.length, 60);
    });
  });

  it('end after so many', async () => {
    await withStream({ updateEvery: 1, endStreamAfter: 3 }, async (stream, sim) => {
      await eventually('the end', () => stream.ended);
      assert.deepEqual([stream.lists.length, stream.ended?.code], [3, status.OK]);
      assert.deepEqual((await sim.saw('stream-ended'))['lists'], 3);
    });
  });

  it('go to every stream, and the end of one is noticed', async () => {
    await withStream({}, async (first, sim, registry) => {
      const second = registry.watch(sim.socket);
      await eventually('both lists', () => first.lists.length === 1 && second.lists.length === 1);
      assert.equal((await sim.saw('list-and-watch-opened', 2))['open'], 2);
      second.cancel();
      assert.deepEqual(
        { ...(await sim.saw('stream-ended')), time: 0, pid: 0 },
        {
          time: 0,
          pid: 0,
          event: 'stream-ended',
          how: 'cancelled',
          lists: 1,
          open: 1,
        },
      );
    });
  });
});

describe('the faults of a simulated device plugin', () => {
  const faults = (...texts: string[]): DeviceSimOptions['fault'] =>
    texts.reduce<DeviceSimOptions['fault']>((before, text) => parseFault(text, before), []);

  it('fail, delay, garble and swallow calls, the first ones or all', async () => {
    const fault = faults(
      'GetDevicePluginOptions=status:UNAVAILABLE:not yet@1',
      'GetDevicePluginOptions=garbage@2',
      'GetDevicePluginOptions=delay:30ms',
      'Allocate=never',
    );
    await withStream({ fault }, async (_stream, sim, registry) => {
      const ask = (): Promise<unknown> => registry.ask(sim.socket, GetDevicePluginOptions, {});
      await assert.rejects(ask(), { code: status.UNAVAILABLE, details: 'not yet' });
      await assert.rejects(ask(), { code: status.INTERNAL });
      await ask();
      await assert.rejects(registry.ask(sim.socket, Allocate, {}, 100), { code: status.DEADLINE_EXCEEDED });
    });
  });

  it('spoil list streams', async () => {
    await withStream({ fault: faults('ListAndWatch=status:ABORTED') }, async (stream) => {
      await eventually('the end', () => stream.ended);
      assert.equal(stream.ended?.code, status.ABORTED);
    });
    await withStream({ fault: faults('ListAndWatch=garbage') }, async (stream) => {
      await eventually('the end', () => stream.ended);
      assert.equal(stream.ended?.code, status.INTERNAL);
    });
    await withStream({ fault: faults('ListAndWatch=never') }, async (stream, sim) => {
      await sim.saw('list-and-watch-opened');
      assert.deepEqual([stream.lists.length, sim.of('list-sent').length], [0, 0]);
    });
  });

  for (const speak of ['http1', 'garbage', 'silent', 'dead'] as const) {
    it(`answer connections with ${speak} instead of gRPC`, async () => {
      await withStream({ speak }, async (_stream, sim, registry) => {
        const asked = registry.ask(sim.socket, GetDevicePluginOptions, {}, 300);
        await assert.rejects(asked, ({ code }) => code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED);
      });
    });
  }
});
