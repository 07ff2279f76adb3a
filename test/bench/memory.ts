// Resident memory with so many plugins, each with its open list stream. Beside it a bare grpc-js server that dialled the
// same plugins back and holds as many streams.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startCrowd, type Crowd } from '../support/bench/crowd.js';
import { FloorProcess } from '../support/bench/floor-process.js';
import { residentMiB } from '../support/bench/process-cost.js';
import { atMost, say, spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { tempDir } from '../support/temp-dir.js';

const RUNS = 3;
/** Memory is looked at this long after the last plugin is there, in milliseconds. */
const SETTLE_MS = 1500;
const LIMITS = [
  [1, 65],
  [100, 85],
  [500, 140],
] as const;
const AGAIN = 9;

const crowd = startCrowd();

async function register(kubeletSocket: string, plugins: Crowd): Promise<void> {
  await crowd.ask('registerAtOnce', { kubeletSocket, crowd: plugins });
  await crowd.ask('watched', plugins);
}

async function brokerWith(count: number, config: object): Promise<{ broker: BrokerProcess; plugins: Crowd }> {
  const broker = new BrokerProcess(tempDir(), config);
  await broker.start();
  const plugins = { dir: broker.devicePlugins, name: 'm', count };
  await crowd.ask('serve', plugins);
  await register(broker.kubeletSocket, plugins);
  return { broker, plugins };
}

async function leave(kubeletSocket: string, plugins: Crowd): Promise<void> {
  await crowd.ask('hangUp', kubeletSocket);
  await crowd.ask('stop', plugins);
}

async function onBroker(count: number): Promise<number> {
  const { broker, plugins } = await brokerWith(count, {});
  await pause(SETTLE_MS);
  const memory = residentMiB(broker.pid ?? 0);
  await broker.close();
  await leave(broker.kubeletSocket, plugins);
  return memory;
}

async function onFloor(count: number): Promise<number> {
  const dir = path.join(tempDir(), 'm');
  mkdirSync(dir);
  const kubeletSocket = path.join(dir, 'kubelet.sock');
  const floor = await FloorProcess.listening('hold', kubeletSocket);
  const plugins = { dir, name: 'm', count };
  await crowd.ask('serve', plugins);
  await register(kubeletSocket, plugins);
  await pause(SETTLE_MS);
  const memory = residentMiB(floor.pid);
  await floor.end();
  await leave(kubeletSocket, plugins);
  return memory;
}

/** 500 plugins that register ten times each: again and again, or each time after a restart on a new socket. */
async function tenTimes(restarts: boolean): Promise<number> {
  const { broker, plugins } = await brokerWith(500, { flood: { mode: 'observe' } });
  for (let nth = 0; nth < AGAIN; nth++) {
    if (restarts) {
      await crowd.ask('stop', plugins);
      await crowd.ask('serve', plugins);
    }
    await register(broker.kubeletSocket, plugins);
  }
  await pause(SETTLE_MS);
  const memory = residentMiB(broker.pid ?? 0);
  await broker.close();
  await leave(broker.kubeletSocket, plugins);
  return memory;
}

async function main(): Promise<void> {
  let floor500 = spread([]);
  for (const [count, limit] of LIMITS) {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      ours.push(await onBroker(count));
      theirs.push(await onFloor(count));
    }
    floor500 = spread(theirs);
    say({
      figure: `resident memory, ${String(count)} plugins`,
      unit: 'MB',
      broker: spread(ours),
      beside: [{ what: 'bare grpc-js dial-back with as many streams', value: floor500 }],
      limit: atMost(spread(ours), limit),
    });
  }
  for (const [restarts, words] of [
    [false, 'each called Register ten times'],
    [true, 'each restarted nine times'],
  ] as const) {
    const memory = spread([await tenTimes(restarts)]);
    say({
      figure: `resident memory, 500 plugins, ${words}`,
      unit: 'MB',
      broker: memory,
      beside: [{ what: 'bare grpc-js dial-back with as many streams, once', value: floor500 }],
      limit: atMost(memory, 190),
    });
  }
  await crowd.end();
}

await main();
