// Devices that are given: one at a time and 100 at once, with 100 and 1,000 leases present; an exporter's List of the
// owners; the cost of 1,000 leases for a start and in memory. Beside it a bare grpc-js server that asks the same plugin and
// makes one file durable, a bare Allocate of that plugin, and a bare server with the same bytes.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, credentials } from '@grpc/grpc-js';
import { allocatorService } from '../../src/generated/proto/pluginbroker/v1/allocator.js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { podResourcesListerService } from '../../src/generated/proto/podresources/v1/podresources.js';
import { AllocClient } from '../support/alloc-client.js';
import { FloorProcess } from '../support/bench/floor-process.js';
import { residentMiB } from '../support/bench/process-cost.js';
import { atMost, atMostTimes, now, quantile, say, spread, type Spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { tempDir } from '../support/temp-dir.js';

const GPU = 'example.com/gpu';
const DEVICES = 1200;
const ROUNDS = 5;
const WARM = 2;
const IN_TURN = 50;
const AT_ONCE = 100;
const CONFIG = { flood: { allocate: { burst: 100_000 } }, cdi: { dir: 'cdi' } };

/** A client that sends bytes and takes bytes. */
class BareClient {
  readonly #client: Client;
  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
    });
  }
  call(method: string, request: Buffer): Promise<Buffer> {
    const asItIs = (bytes: Buffer): Buffer => bytes;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(method, asItIs, asItIs, request, (failure, answer) =>
        failure === null && answer !== undefined ? resolve(answer) : reject(failure as Error),
      );
    });
  }
  close(): void {
    this.#client.close();
  }
}

/** A broker with a plugin of many devices. */
interface Bed {
  readonly broker: BrokerProcess;
  readonly plugin: FakePlugin;
  readonly client: AllocClient;
  readonly close: () => Promise<void>;
}

async function bedWith(leases: number): Promise<Bed> {
  const broker = new BrokerProcess(tempDir(), CONFIG);
  await broker.start();
  const plugin = await FakePlugin.start({
    socket: path.join(broker.devicePlugins, 'gpu.sock'),
    resource: GPU,
    devices: healthy(...Array.from({ length: DEVICES }, (_, index) => `gpu-${String(index)}`)),
    allocate: (ids) => ({ envs: new Map([['GPU_IDS', ids.join(',')]]) }),
  });
  await plugin.register(broker.kubeletSocket);
  await eventually('it offers devices', async () => (await broker.allocatable(GPU)) === DEVICES);
  const client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  for (let begun = 0; begun < leases; begun += 50) {
    const some = Array.from({ length: Math.min(50, leases - begun) }, (_, nth) =>
      client.one(GPU, { key: `present-${String(begun + nth)}` }),
    );
    await Promise.all(some);
  }
  const close = async (): Promise<void> => {
    client.close();
    await plugin.stop();
    await broker.close();
  };
  return { broker, plugin, client, close };
}

async function times(count: number, work: (nth: number) => Promise<unknown>): Promise<number[]> {
  const each: number[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const began = now();
    await work(nth);
    each.push(now() - began);
  }
  return each;
}

/** One device at a time, in turns with the floor. */
async function oneAtATime(bed: Bed, present: number): Promise<void> {
  const dir = tempDir();
  const socket = path.join(dir, 'floor.sock');
  const written = path.join(dir, 'document');
  writeFileSync(written, readFileSync(path.join(bed.broker.root, 'state', 'checkpoint.json')));
  const floor = await FloorProcess.listening('allocate', `${socket},${bed.plugin.socket},${written}`);
  const bare = new BareClient(socket);
  const request = devicePluginService.Allocate.requestSerialize({ containerRequests: [{ devicesIds: ['gpu-0'] }] });
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < WARM + ROUNDS; round += 1) {
    const keys = Array.from({ length: IN_TURN }, (_, nth) => `one-${String(round)}-${String(nth)}`);
    // Each is given back at once, so that as many leases are present for the next.
    const mine: number[] = [];
    for (const key of keys) {
      mine.push(...(await times(1, () => bed.client.one(GPU, { key }))));
      await bed.client.release({ key });
    }
    const bareTimes = await times(IN_TURN, () => bare.call(allocatorService.Allocate.path, request));
    if (round < WARM) continue;
    ours.push(quantile(mine, 0.5));
    theirs.push(quantile(bareTimes, 0.5));
  }
  bare.close();
  await floor.end();
  say({
    figure: `allocate one device, ${String(present)} leases present, p50`,
    unit: 'ms',
    broker: spread(ours),
    beside: [{ what: 'bare grpc-js Allocate and one durable file of that size', value: spread(theirs) }],
    limit: atMostTimes(spread(ours), spread(theirs), 1.5),
  });
}

/** A hundred at once, in turns with a hundred calls of the plugin, and of a bare program that passes each on to it. */
async function atOnce(bed: Bed): Promise<void> {
  const passing = path.join(tempDir(), 'proxy.sock');
  const proxy = await FloorProcess.listening('proxy', `${passing},${bed.plugin.socket}`);
  const sides = [new BareClient(bed.plugin.socket), new BareClient(passing)];
  const request = devicePluginService.Allocate.requestSerialize({ containerRequests: [{ devicesIds: ['gpu-0'] }] });
  const ours: number[] = [];
  const others: number[][] = sides.map(() => []);
  const commits: number[] = [];
  for (let round = 0; round < WARM + ROUNDS; round += 1) {
    const before = (await bed.broker.status()).checkpoint.generation;
    const began = now();
    const leases = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, nth) => bed.client.one(GPU, { key: `at-${String(nth)}` })),
    );
    const took = now() - began;
    const after = (await bed.broker.status()).checkpoint.generation;
    const ids = new Set(leases.flatMap(({ granted }) => granted.flatMap((one) => one.ids)));
    if (ids.size !== AT_ONCE) throw new Error(`${String(ids.size)} devices for ${String(AT_ONCE)} leases`);
    for (let nth = 0; nth < AT_ONCE; nth += 1) await bed.client.release({ key: `at-${String(nth)}` });
    for (const [side, client] of sides.entries()) {
      const bareBegan = now();
      await Promise.all(Array.from({ length: AT_ONCE }, () => client.call(devicePluginService.Allocate.path, request)));
      if (round >= WARM) others[side]?.push(now() - bareBegan);
    }
    if (round < WARM) continue;
    ours.push(took);
    commits.push(after - before);
  }
  for (const client of sides) client.close();
  await proxy.end();
  const [bare, passed] = others.map(spread) as [Spread, Spread];
  say({
    figure: `${String(AT_ONCE)} allocations at once of ${String(DEVICES)} devices → all on disk, none twice`,
    unit: 'ms',
    broker: spread(ours),
    beside: [
      { what: `${String(AT_ONCE)} bare Allocate calls`, value: bare },
      { what: 'a bare grpc-js program that passes each call on', value: passed },
    ],
    limit: atMostTimes(spread(ours), bare, 2),
  });
  say({
    figure: '… in so many commits',
    unit: 'calls',
    broker: spread(commits),
    beside: [],
    limit: atMost(spread(commits), 20),
  });
}

/** List of the owners, in turns with a bare server that answers the same bytes. */
async function listed(bed: Bed, present: number): Promise<void> {
  const { path: method } = podResourcesListerService.List;
  const real = new BareClient(path.join(bed.broker.root, 'pod-resources', 'kubelet.sock'));
  const dir = tempDir();
  const answer = await real.call(method, Buffer.alloc(0));
  writeFileSync(path.join(dir, 'bytes'), answer);
  const floor = await FloorProcess.listening('bytes', `${path.join(dir, 's')},${path.join(dir, 'bytes')}`);
  const bare = new BareClient(path.join(dir, 's'));
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < WARM + ROUNDS; round += 1) {
    await pause(200); // ten at once and a hundred a second are answered
    const mine = await times(10, () => real.call(method, Buffer.alloc(0)));
    const others = await times(10, () => bare.call(method, Buffer.alloc(0)));
    if (round < WARM) continue;
    ours.push(quantile(mine, 0.5));
    theirs.push(quantile(others, 0.5));
  }
  real.close();
  bare.close();
  await floor.end();
  say({
    figure: `PodResources List with ${String(present)} leases, ${String(answer.length)} bytes`,
    unit: 'ms',
    broker: spread(ours),
    beside: [{ what: 'bare grpc-js server with the same bytes', value: spread(theirs) }],
    limit: atMostTimes(spread(ours), spread(theirs), 1.5),
  });
}

/** The cost of leases for a start and in memory: the same broker with and without them, restarted in turns. */
async function addedBy(bed: Bed, present: number): Promise<void> {
  const without = await bedWith(0);
  const started = async ({ broker }: Bed): Promise<{ startMs: number; memory: number }> => {
    await broker.end('SIGTERM');
    const began = now();
    await broker.start({ settled: false });
    const startMs = now() - began;
    await eventually('it is ready', async () => (await broker.status()).broker.phase === 'ready');
    await pause(1000);
    return { startMs, memory: residentMiB(broker.pid ?? 0) };
  };
  const withLeases: { startMs: number; memory: number }[] = [];
  const plain: typeof withLeases = [];
  for (let round = 0; round < WARM + ROUNDS; round += 1) {
    withLeases.push(await started(bed));
    plain.push(await started(without));
  }
  const of = (rounds: typeof plain, what: keyof (typeof plain)[number]): Spread =>
    spread(rounds.slice(WARM).map((one) => one[what]));
  for (const [what, unit, most] of [
    ['startMs', 'ms', 10],
    ['memory', 'MB', 5],
  ] as const) {
    const [ours, theirs] = [of(withLeases, what), of(plain, what)];
    say({
      figure:
        what === 'memory'
          ? `resident memory with ${String(present)} leases`
          : `start → answered, ${String(present)} leases`,
      unit,
      broker: ours,
      beside: [{ what: 'the same without leases', value: theirs }],
      limit: { text: `≤ + ${String(most)}`, isMet: ours.median - theirs.median <= most },
    });
  }
  await without.close();
}

async function main(): Promise<void> {
  mkdirSync(tempDir(), { recursive: true });
  const none = await bedWith(0);
  await atOnce(none);
  await none.close();
  for (const present of [100, 1000]) {
    const bed = await bedWith(present);
    await oneAtATime(bed, present);
    if (present === 1000) {
      await listed(bed, present);
      await addedBy(bed, present);
    }
    process.stderr.write(
      `checkpoint with ${String(present)} leases: ${String(statSync(path.join(bed.broker.root, 'state', 'checkpoint.json')).size)} bytes\n`,
    );
    await bed.close();
  }
}

await main();
