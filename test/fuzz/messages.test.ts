import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import type { Random } from '../../src/kernel/random.js';
import { seededRandom } from '../support/seeded-random.js';
import { GRPC_STATUS } from '../../src/model/reasons.js';
import {
  ExplainRequest,
  ListPluginsRequest,
  PluginRequest,
  adminService,
} from '../../src/generated/proto/pluginbroker/v1/admin.js';
import { NodeGetInfoResponse } from '../../src/generated/proto/csi/v1/csi.js';
import { DEVICE_PLUGIN_VERSION } from '../../src/model/ids.js';
import {
  DevicePluginOptions,
  ListAndWatchResponse,
  RegisterRequest,
  registrationService,
} from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { PluginInfo } from '../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin } from '../support/fake-plugin.js';
import { RawPlugin } from '../support/raw-plugin.js';
import { tempDir } from '../support/temp-dir.js';
import { usedBytes } from '../support/used-memory.js';
import { damaged, fuzzMessages, honestBytes } from '../support/wire-fuzz.js';

/** Damaged messages in memory; one in forty as many goes through the sockets of a broker. */
const INPUTS = Number(process.env['PB_FUZZ_INPUTS'] ?? 600_000);
/** The first seed: another one is another set of inputs, the same one repeats it. */
const FIRST_SEED = Number(process.env['PB_FUZZ_SEED'] ?? 1);
const MIB = 1024 * 1024;
/** More than a warm heap moves by itself, far less than one octet kept of each input. */
const GROWTH_BYTES = 16 * MIB;
/** A process breathes more than a heap. */
const PROCESS_GROWTH_BYTES = 48 * MIB;
/** All of them together take a minute; one that takes for ever takes longer. */
const HANGS = { timeout: 600_000 };

void describe('the messages', () => {
  void it(`${INPUTS} damaged ones are read or refused, and nothing of them is kept`, HANGS, () => {
    const share = Math.ceil(INPUTS / 10);
    fuzzMessages(FIRST_SEED, share);
    const warm = usedBytes();
    fuzzMessages(FIRST_SEED + share, INPUTS - share);
    const growth = usedBytes() - warm;
    assert.ok(growth < GROWTH_BYTES, `grew by ${Math.round(growth / MIB)} MiB`);
  });
});

/** How many go each way: 16,000 in all unless another number was asked for. */
const share = (parts: number): number => Math.ceil((INPUTS / 40) * parts);
const REGISTERS = share(0.5);
const LISTS = share(0.3);
const OPERATORS = share(0.1);
const OPTIONS = share(0.1);
const INFOS = share(0.04);
const NODES = share(0.02);
/** Fewer than the refusals after which a connection is read slowly. */
const CALLS_PER_CONNECTION = 12;
const AT_ONCE = 40;

void describe(`a broker that gets damaged messages (first seed ${FIRST_SEED})`, { timeout: 900_000 }, () => {
  const broker = new BrokerProcess(tempDir(), {
    // Limits must not stand before the decoders.
    flood: { mode: 'observe' },
    log: { level: 'debug' },
    grace: { device: '1s', dra: '1s' },
  });
  let bystander: FakePlugin;
  let warm: { readonly pid: number | undefined; readonly descriptors: number; readonly bytes: number };

  const measured = (): typeof warm => {
    const { pid } = broker;
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    const kib = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
    return { pid, descriptors: readdirSync(`/proc/${String(pid)}/fd`).length, bytes: kib * 1024 };
  };
  const goesOn = async (): Promise<void> => {
    const view = (await broker.plugins()).find(({ name }) => name === bystander.resource);
    assert.deepEqual([view?.state, await broker.allocatable(bystander.resource)], ['ready', 2]);
  };
  /** Runs inputs, some at a time, each with a seed of its own, and looks at the bystander between them. */
  const many = async (firstSeed: number, inputs: number, one: (random: Random, seed: number) => Promise<void>) => {
    for (let from = 0; from < inputs; from += AT_ONCE) {
      const seeds = Array.from({ length: Math.min(AT_ONCE, inputs - from) }, (_, at) => firstSeed + from + at);
      const told = (seed: number) => (cause: unknown) => {
        throw new Error(`seed ${seed}`, { cause });
      };
      await Promise.all(seeds.map((seed) => one(seededRandom(seed), seed).catch(told(seed))));
      await goesOn();
    }
  };

  before(async () => {
    await broker.start();
    bystander = await FakePlugin.start({
      socket: path.join(broker.devicePlugins, 'bystander.sock'),
      resource: 'example.com/bystander',
    });
    await bystander.register(broker.kubeletSocket);
    await eventually('in', async () => (await broker.allocatable(bystander.resource)) === 2);
    await many(FIRST_SEED, Math.ceil(REGISTERS / CALLS_PER_CONNECTION / 4), registers);
    warm = measured();
  });
  after(async () => {
    await broker.close();
    await bystander.stop();
  });

  /** Some Register calls over a connection of their own, as a damaged plugin would make them. */
  async function registers(random: Random): Promise<void> {
    const bodies = Array.from({ length: CALLS_PER_CONNECTION }, () => {
      if (random.next() < 0.2) return damaged(random, honestBytes(random, RegisterRequest));
      const endpoint = ['bystander.sock', 'kubelet.sock', '../broker.sock', 'missing.sock'][
        Math.floor(random.next() * 4)
      ];
      const names = ['bystander', 'other', '__proto__'];
      const resourceName = `example.com/${names[Math.floor(random.next() * names.length)] ?? ''}`;
      return damaged(random, RegisterRequest.encode({ version: DEVICE_PLUGIN_VERSION, endpoint, resourceName }));
    });
    const codes = await calls(broker.kubeletSocket, registrationService.Register.path, bodies);
    const bad = [GRPC_STATUS.INTERNAL, GRPC_STATUS.UNKNOWN, GRPC_STATUS.UNAVAILABLE] as number[];
    assert.deepEqual(
      codes.filter((code) => bad.includes(code)),
      [],
    );
  }

  void it(`answers ${REGISTERS} Register calls`, () =>
    many(FIRST_SEED + 10_000, Math.ceil(REGISTERS / CALLS_PER_CONNECTION), registers));

  void it(`answers ${OPERATORS} calls of operators`, () => {
    const methods = [
      { method: adminService.ListPlugins, type: ListPluginsRequest },
      { method: adminService.Explain, type: ExplainRequest },
      { method: adminService.Pardon, type: PluginRequest },
    ];
    return many(FIRST_SEED + 20_000, Math.ceil(OPERATORS / CALLS_PER_CONNECTION), async (random, seed) => {
      const { method, type } = methods[seed % methods.length] ?? methods[0]!;
      const bodies = Array.from({ length: CALLS_PER_CONNECTION }, () => damaged(random, honestBytes(random, type)));
      const codes = await calls(path.join(broker.root, 'broker.sock'), method.path, bodies);
      assert.ok(!codes.includes(GRPC_STATUS.UNAVAILABLE));
    });
  });

  void it(`takes or refuses ${LISTS} lists of one stream`, async () => {
    const random = seededRandom(FIRST_SEED + 30_000);
    const socket = path.join(broker.devicePlugins, 'lists.sock');
    const plugin = await RawPlugin.start(socket, {});
    await new FakePlugin({ socket, resource: 'example.com/lists' }).register(broker.kubeletSocket);
    const stream = await eventually('a list stream', () => plugin.streams[0]);
    const taken = async (): Promise<number> =>
      (await broker.plugins()).find(({ name }) => name === 'example.com/lists')?.counters.updates ?? 0;
    for (let sent = 0; sent < LISTS;) {
      for (let batch = 0; batch < 100; batch++, sent++)
        stream.write(damaged(random, honestBytes(random, ListAndWatchResponse)));
      await eventually(`${sent} lists are taken`, async () => (await taken()) >= sent);
      await goesOn();
    }
    assert.equal(plugin.streams.length, 1, 'the stream was never broken');
    await plugin.stop();
  });

  void it(`dials ${OPTIONS} plugins that answer GetDevicePluginOptions`, () =>
    many(FIRST_SEED + 40_000, OPTIONS, async (random, seed) => {
      const name = `options-${seed % AT_ONCE}`;
      const socket = path.join(broker.devicePlugins, `${name}.sock`);
      const plugin = await RawPlugin.start(socket, {
        GetDevicePluginOptions: damaged(random, honestBytes(random, DevicePluginOptions)),
      });
      const resource = `example.com/${name}`;
      await new FakePlugin({ socket, resource }).register(broker.kubeletSocket).catch((failure: unknown) => {
        assert.match((failure as Error).message, /options/i);
      });
      assert.ok(plugin.answered.has('GetDevicePluginOptions'));
      await plugin.stop();
    }));

  void it(`finds ${INFOS} registration sockets that answer GetInfo`, () =>
    many(FIRST_SEED + 50_000, INFOS, async (random, seed) => {
      const type = ['DevicePlugin', 'CSIPlugin', 'DRAPlugin', 'Other'][Math.floor(random.next() * 4)];
      const info = { type, name: 'info.example.com', endpoint: '', supportedVersions: ['v1beta1', '1.0.0'] };
      const plugin = await RawPlugin.start(path.join(broker.registry, `info-${seed}.sock`), {
        GetInfo: damaged(random, PluginInfo.encode(info)),
      });
      // A plugin that gets in keeps its connection; another one is left alone, at once or after it was told.
      const isDone = (): boolean => plugin.answered.has('NotifyRegistrationStatus') || plugin.connections === 0;
      await eventually('it was asked', () => plugin.answered.has('GetInfo') && isDone()).catch(async (e: unknown) => {
        console.error(
          seed,
          [...plugin.answered],
          plugin.connections,
          broker.log.slice(-6000),
          JSON.stringify((await broker.plugins()).filter((x) => JSON.stringify(x).includes(String(seed)))),
        );
        throw e;
      });
      await plugin.stop();
    }));

  void it(`asks ${NODES} CSI drivers that answer NodeGetInfo`, () =>
    many(FIRST_SEED + 60_000, NODES, async (random, seed) => {
      const socket = path.join(broker.registry, `node-${seed}.sock`);
      const info = {
        type: 'CSIPlugin',
        name: `node-${seed}.example.com`,
        endpoint: socket,
        supportedVersions: ['1.0.0'],
      };
      const plugin = await RawPlugin.start(socket, {
        GetInfo: PluginInfo.encode(info),
        NodeGetInfo: damaged(random, honestBytes(random, NodeGetInfoResponse)),
      });
      await eventually('it was told', () => plugin.answered.has('NotifyRegistrationStatus'));
      assert.ok(plugin.answered.has('NodeGetInfo'));
      await plugin.stop();
    }));

  void it('and is the same as before: process, descriptors, memory, bystander', async () => {
    await eventually('descriptors are given back', () => measured().descriptors <= warm.descriptors + 2, {
      withinMs: 30_000,
    });
    const now = measured();
    assert.equal(now.pid, warm.pid);
    assert.equal((await broker.status()).broker.pid, warm.pid);
    const growth = now.bytes - warm.bytes;
    assert.ok(growth < PROCESS_GROWTH_BYTES, `grew by ${Math.round(growth / MIB)} MiB`);
    await goesOn();
    assert.deepEqual([bystander.streams, bystander.count('ListAndWatch')], [1, 1]);
    assert.doesNotMatch(broker.log, /broker\.bug/);
  });
});

/** Calls one method with prepared octets, all at once over one connection. Gives the status of each. */
async function calls(socket: string, method: string, bodies: readonly Buffer[]): Promise<number[]> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const same = (bytes: Buffer): Buffer => bytes;
  try {
    return await Promise.all(
      bodies.map(
        (body) =>
          new Promise<number>((resolve) => {
            client.makeUnaryRequest(method, same, same, body, { deadline: Date.now() + 60_000 }, (failure) =>
              resolve(failure?.code ?? GRPC_STATUS.OK),
            );
          }),
      ),
    );
  } finally {
    client.close();
  }
}
