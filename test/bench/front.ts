// In front of a kubelet (`sim kubelet`): calls that are passed on, 100 resources after a restart of the kubelet, and what a
// plugin that floods costs the kubelet. Beside it the plugin itself, a bare grpc-js client that registers as many, and the
// same plugin at the kubelet's own door.
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, credentials } from '@grpc/grpc-js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { namesOf } from '../../src/platform/kubelet/front-paths.js';
import { FloorProcess } from '../support/bench/floor-process.js';
import { cpuMs } from '../support/bench/process-cost.js';
import { atMostTimes, now, quantile, say, spread } from '../support/bench/rows.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { FrontWorld } from '../support/front-world.js';
import { KubeletProcess } from '../support/kubelet-process.js';
import { tempDir } from '../support/temp-dir.js';

const GPU = 'example.com/gpu';
const ROUNDS = 5;
const WARM = 2;
const CALLS = 100;
const RESOURCES = 100;
const FLOOD_MS = 4000;

function caller(socket: string): {
  call: (method: 'Allocate' | 'PreStartContainer') => Promise<void>;
  close: () => void;
} {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const asItIs = (bytes: Buffer): Buffer => bytes;
  const requests = {
    Allocate: devicePluginService.Allocate.requestSerialize({ containerRequests: [{ devicesIds: ['dev-0'] }] }),
    PreStartContainer: devicePluginService.PreStartContainer.requestSerialize({ devicesIds: ['dev-0'] }),
  };
  return {
    call: (method) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(devicePluginService[method].path, asItIs, asItIs, requests[method], (failure) =>
          failure === null ? resolve() : reject(failure),
        );
      }),
    close: () => client.close(),
  };
}

const plugin = (dir: string, more: Partial<ConstructorParameters<typeof FakePlugin>[0]> = {}): Promise<FakePlugin> =>
  FakePlugin.start({
    socket: path.join(dir, 'gpu.sock'),
    resource: GPU,
    devices: healthy('gpu-0', 'gpu-1'),
    options: { preStartRequired: true },
    allocate: (ids) => ({ envs: new Map([['GPU_IDS', ids.join(',')]]) }),
    ...more,
  });

/** Allocate and PreStartContainer through the front, in turns with the plugin itself. */
async function calls(): Promise<void> {
  const world = new FrontWorld();
  await world.kubelet.start();
  await world.broker.start();
  // A process of its own, as a plugin is: the comparison is about one step more, not one process more.
  const gpu = await FloorProcess.listening('register', `${world.broker.devicePlugins},1`);
  await world.listed(2, 'example.com/r0');
  const fronted = caller(path.join(world.kubelet.devicePlugins, 'plugin-broker', namesOf('example.com/r0').socket));
  const behind = path.join(world.broker.devicePlugins, 'bare', '0.sock');
  const direct = caller(behind);
  // The cost of two calls in place of one: below this no front that speaks through this library comes.
  const passing = path.join(tempDir(), 'proxy.sock');
  const proxy = await FloorProcess.listening('proxy', `${passing},${behind}`);
  const passed = caller(passing);
  for (const method of ['Allocate', 'PreStartContainer'] as const) {
    const ours: number[] = [];
    const theirs: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < WARM + ROUNDS; round += 1) {
      for (const [side, rounds] of [
        [fronted, ours],
        [passed, bare],
        [direct, theirs],
      ] as const) {
        const each: number[] = [];
        for (let nth = 0; nth < CALLS; nth += 1) {
          const began = now();
          await side.call(method);
          each.push(now() - began);
        }
        if (round >= WARM) rounds.push(quantile(each, 0.5));
      }
    }
    say({
      figure: `fronted ${method}, p50`,
      unit: 'ms',
      broker: spread(ours),
      beside: [
        { what: 'the plugin called directly', value: spread(theirs) },
        { what: 'a bare grpc-js program that passes it on', value: spread(bare) },
      ],
      limit: atMostTimes(spread(ours), spread(theirs), 2.5),
    });
  }
  for (const side of [fronted, passed, direct]) side.close();
  await proxy.end();
  await gpu.end();
  await world.close();
}

/** From kubelet.sock of a kubelet that restarts to the last of all lists, by what the kubelet wrote. */
async function restarts(kubelet: KubeletProcess): Promise<number[]> {
  const took: number[] = [];
  for (let round = 0; round < WARM + ROUNDS; round += 1) {
    await pause(1500);
    const before = kubelet.lines.length;
    await kubelet.restart('--admit-after', '5s');
    const first = new Map<string, number>();
    await eventually(
      'all are listed',
      () => {
        for (const line of kubelet.lines.slice(before)) {
          const resource = String(line['resource']);
          if (line.event === 'list' && !first.has(resource)) first.set(resource, Date.parse(line.time));
        }
        return first.size === RESOURCES;
      },
      { withinMs: 60_000 },
    );
    const listening = kubelet.lines.slice(before).find(({ event }) => event === 'listening');
    if (round >= WARM) took.push(Math.max(...first.values()) - Date.parse(listening?.time ?? ''));
  }
  return took;
}

/** The figures of the broker where the kubelet is told by these doors. */
async function fronted(doors: 'both' | 'register'): Promise<number[]> {
  const world = new FrontWorld({ front: { doors } });
  await world.kubelet.start();
  await world.broker.start();
  const plugins = await Promise.all(
    Array.from({ length: RESOURCES }, (_, nth) =>
      plugin(world.broker.devicePlugins, {
        socket: path.join(world.broker.devicePlugins, `r${String(nth)}.sock`),
        resource: `example.com/r${String(nth)}`,
      }),
    ),
  );
  for (const one of plugins) await one.register(world.broker.kubeletSocket);
  for (const { resource } of plugins) await world.listed(2, resource);
  const took = await restarts(world.kubelet);
  for (const one of plugins) await one.stop();
  await world.close();
  return took;
}

/** By both doors the kubelet itself has twice the clients; by Register alone it has as many as of the bare client. */
async function hundred(): Promise<void> {
  const both = await fronted('both');
  const registered = await fronted('register');
  const kubelet = new KubeletProcess(path.join(tempDir(), 'k'));
  await kubelet.start();
  const floor = await FloorProcess.listening('register', `${kubelet.devicePlugins},${String(RESOURCES)}`);
  const theirs = await restarts(kubelet);
  await floor.end();
  await kubelet.end('SIGKILL');
  for (const [doors, ours] of [
    ['both doors', both],
    ['front.doors: register', registered],
  ] as const) {
    say({
      figure: `kubelet.sock new → ${String(RESOURCES)} resources listed, ${doors}`,
      unit: 'ms',
      broker: spread(ours),
      beside: [{ what: 'bare grpc-js client that registers as many', value: spread(theirs) }],
      limit: atMostTimes(spread(ours), spread(theirs), 1.5),
    });
  }
}

/** The kubelet's share of a core while a plugin sends ever new lists as fast as they are taken. */
async function flooded(kubelet: KubeletProcess, gpu: FakePlugin): Promise<number> {
  const state = { isOver: false };
  const flood = (async () => {
    for (let nth = 0; !state.isOver; nth += 1) {
      gpu.setDevices([
        { id: 'gpu-0', health: nth % 2 === 0 ? 'Healthy' : 'Unhealthy' },
        ...healthy(...Array.from({ length: 100 }, (_, index) => `gpu-x${String(index)}`)),
      ]);
      await pause(1);
    }
  })();
  await pause(1000);
  const [cpu, since] = [cpuMs(kubelet.pid), now()];
  await pause(FLOOD_MS);
  const share = ((cpuMs(kubelet.pid) - cpu) / (now() - since)) * 100;
  state.isOver = true;
  await flood;
  return share;
}

async function flood(): Promise<void> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const world = new FrontWorld();
    await world.kubelet.start();
    await world.broker.start();
    const behind = await plugin(world.broker.devicePlugins);
    await behind.register(world.broker.kubeletSocket);
    await world.listed(2, GPU);
    ours.push(await flooded(world.kubelet, behind));
    await behind.stop();
    await world.close();
    const kubelet = new KubeletProcess(path.join(tempDir(), 'k'));
    await kubelet.start();
    const past = await plugin(kubelet.devicePlugins);
    await past.register(kubelet.socket);
    await eventually('it is listed', () => kubelet.listed(GPU)?.healthy === 2);
    theirs.push(await flooded(kubelet, past));
    await past.stop();
    await kubelet.end('SIGKILL');
  }
  say({
    figure: 'CPU of the kubelet under a plugin that floods it with lists',
    unit: '% of a core',
    broker: spread(ours),
    beside: [{ what: 'the same plugin at the kubelet itself', value: spread(theirs) }],
  });
}

await calls();
await hundred();
await flood();
