// Process start → first answered call, → all resources of the checkpoint served, → all confirmed. Looked at from outside:
// a poller on broker.sock, a caller on kubelet.sock, the broker's own line about what it confirmed.
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accepts, AdminPoll } from '../support/bench/admin-poll.js';
import { eventually } from '../support/eventually.js';
import { startCrowd, type Crowd } from '../support/bench/crowd.js';
import { FloorProcess } from '../support/bench/floor-process.js';
import { cpuMs } from '../support/bench/process-cost.js';
import { RegisterClient } from '../support/bench/register-client.js';
import { atMostTimes, now, say, spread, type Row, type Spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { tempDir } from '../support/temp-dir.js';

const DEVICES = 2;
/** How often a poller looks until all is served, in milliseconds. */
const LOOK_EVERY = 5;
/** And from then on: each look is a call that lists everything, and is not to be what takes the time. */
const LOOK_AGAIN_EVERY = 20;

/** One start as seen from outside; milliseconds since the process was spawned. */
interface Start {
  /** The first answer on kubelet.sock. */
  readonly answered: number;
  /** kubelet.sock answers and every resource was seen allocatable. */
  readonly served: number;
  /** The restart is over, plugins that restart themselves included; undefined without a checkpoint. */
  readonly confirmed: number | undefined;
  /** The least sum of allocatable devices that a poller saw once it saw any. */
  readonly least: number;
  /** CPU time of the broker until then. */
  readonly cpu: number;
}

const crowd = startCrowd();

/** A broker whose checkpoint knows `count` plugins, which live in the crowd. */
async function checkpointed(count: number): Promise<{ broker: BrokerProcess; plugins: Crowd }> {
  const broker = new BrokerProcess(tempDir());
  await broker.start();
  const plugins = { dir: broker.devicePlugins, name: `p${String(count)}`, count };
  await crowd.ask('serve', plugins);
  await crowd.ask('registerAtOnce', { kubeletSocket: broker.kubeletSocket, crowd: plugins });
  await crowd.ask('hangUp', broker.kubeletSocket);
  for (let nth = 0; nth < count; nth++) await broker.onDisk(`example.com/${plugins.name}-${String(nth)}`);
  await broker.end('SIGKILL');
  return { broker, plugins };
}

/** The plugins of a start do nothing, restart when kubelet.sock is re-created, or that while no checkpoint knows them. */
type Plugins = 'still' | 'restarting' | 'unknown';

/** Starts it once, watches, and kills it. */
async function startOnce(broker: BrokerProcess, count: number, plugins: Plugins): Promise<Start> {
  const [isCold, isRestarting] = [plugins === 'unknown', plugins === 'restarting'];
  const giveUp = new AbortController();
  const brokerSocket = path.join(broker.root, 'broker.sock');
  const began = now();
  const child = broker.spawn();
  const restored = new Promise<number>((resolve) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      if (chunk.includes('"broker.restored"')) resolve(now() - began);
    });
  });
  const answered = accepts(broker.kubeletSocket, giveUp.signal).then(async () => {
    const client = new RegisterClient(broker.kubeletSocket);
    // An unknown version: answered by admission, without a plugin behind it.
    const { at } = await client.register('example.com/nobody', 'nobody.sock', 'v0');
    client.close();
    return at - began;
  });
  await accepts(brokerSocket, giveUp.signal);
  const poll = new AdminPoll(brokerSocket);
  const seenSoFar = { served: NaN, ready: NaN, least: Infinity, isOver: false };
  const watching = (async () => {
    for (;;) {
      const seen = [...(await poll.resources()).values()];
      const total = seen.reduce((sum, { allocatable }) => sum + allocatable, 0);
      // Without a checkpoint nothing is there at first, and nothing can be missed.
      if (!isCold || total > 0) seenSoFar.least = Math.min(seenSoFar.least, total);
      if (total === count * DEVICES && Number.isNaN(seenSoFar.served)) seenSoFar.served = now() - began;
      if (seen.length === count && seen.every(({ state }) => state === 'ready')) seenSoFar.ready ||= now() - began;
      if (seenSoFar.isOver && !Number.isNaN(seenSoFar.served)) return;
      await pause(Number.isNaN(seenSoFar.served) ? LOOK_EVERY : LOOK_AGAIN_EVERY);
    }
  })();
  const first = await answered;
  const confirmed = isCold ? undefined : await restored;
  if (isRestarting) await eventually('all are ready', () => !Number.isNaN(seenSoFar.ready));
  const cpu = cpuMs(child.pid ?? 0);
  await pause(isCold ? 0 : 300);
  if (isRestarting) await crowd.ask('restarted');
  seenSoFar.isOver = true;
  await watching;
  poll.close();
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  const { served, ready, least } = seenSoFar;
  return {
    answered: first,
    served: Math.max(first, served),
    // The broker does not wait for those that restart themselves: the last of them is seen from outside.
    confirmed: isRestarting ? Math.max(ready, confirmed ?? NaN) : confirmed,
    least,
    cpu,
  };
}

/** The start of a bare grpc-js server that answers at once. */
async function floorOnce(): Promise<number> {
  const socket = path.join(tempDir(), 'k.sock');
  const began = now();
  const floor = new FloorProcess('answer', socket);
  await accepts(socket, new AbortController().signal);
  const client = new RegisterClient(socket);
  const { at } = await client.register('example.com/nobody', 'nobody.sock');
  client.close();
  await floor.end();
  return at - began;
}

/** The start of node until its first line of output. */
async function nodeOnce(): Promise<number> {
  const began = now();
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("here")'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const took = now() - began;
  await once(child, 'exit');
  return took;
}

async function repeated<T>(times: number, once: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let nth = 0; nth < times; nth++) results.push(await once());
  return results;
}

type Beside = Row['beside'];

function sayStarts(what: string, starts: readonly Start[], count: number, beside: Beside, floor?: Spread): void {
  const of = (value: (start: Start) => number): Spread => spread(starts.map(value));
  const served = of((start) => start.served);
  const confirmed = of((start) => start.confirmed ?? NaN);
  say({ figure: `${what}: start → first answered call`, unit: 'ms', broker: of((start) => start.answered), beside });
  say({
    figure: `${what}: start → it answers and all are served`,
    unit: 'ms',
    broker: served,
    beside,
    ...(floor === undefined ? {} : { limit: atMostTimes(served, floor, 1.5) }),
  });
  say({
    figure: `${what}: start → all confirmed`,
    unit: 'ms',
    broker: confirmed,
    beside,
    ...(floor === undefined ? {} : { limit: atMostTimes(confirmed, floor, 3) }),
  });
  say({ figure: `${what}: CPU time until confirmed`, unit: 'ms of CPU', broker: of((start) => start.cpu), beside: [] });
  const least = of((start) => start.least);
  say({
    figure: `${what}: least allocatable devices a poller saw, of ${String(count * DEVICES)}`,
    unit: 'resources',
    broker: least,
    beside: [],
    limit: { text: `= ${String(count * DEVICES)}`, isMet: least.min === count * DEVICES },
  });
}

async function main(): Promise<void> {
  await nodeOnce();
  const floors: number[] = [];
  const nodes: number[] = [];
  const floor = (): Beside => [
    { what: 'bare grpc-js server, start → first answered call', value: spread(floors) },
    { what: 'bare node, start → first output', value: spread(nodes) },
  ];

  const empty = new BrokerProcess(tempDir());
  const alone: Start[] = [];
  const hundred = await checkpointed(100);
  const still: Start[] = [];
  for (let nth = 0; nth < 10; nth++) {
    still.push(await startOnce(hundred.broker, 100, 'still'));
    alone.push(await startOnce(empty, 0, 'unknown'));
    floors.push(await floorOnce());
    nodes.push(await nodeOnce());
  }
  const answered = spread(alone.map((start) => start.answered));
  say({ figure: 'no plugins: start → first answered call', unit: 'ms', broker: answered, beside: floor() });
  sayStarts('100 that never act', still, 100, floor(), spread(floors));

  await crowd.ask('restartWithKubeletSocket', { kubeletSocket: hundred.broker.kubeletSocket, crowd: hundred.plugins });
  const restarting = await repeated(10, () => startOnce(hundred.broker, 100, 'restarting'));
  const without = await repeated(4, () => {
    rmSync(path.join(hundred.broker.root, 'state'), { recursive: true });
    return startOnce(hundred.broker, 100, 'unknown');
  });
  await crowd.ask('restarted');
  await crowd.ask('ignoreKubeletSocket');
  const cold: Beside = [
    { what: 'without a checkpoint: start → all served again', value: spread(without.map((start) => start.served)) },
  ];
  sayStarts('100 that restart when kubelet.sock is re-created', restarting, 100, [...floor(), ...cold], spread(floors));
  await crowd.ask('stop', hundred.plugins);

  const many = await checkpointed(500);
  const large = await repeated(4, () => startOnce(many.broker, 500, 'still'));
  sayStarts('500 that never act', large, 500, floor());
  await crowd.ask('stop', many.plugins);

  await empty.close();
  await hundred.broker.close();
  await many.broker.close();
  await crowd.end();
}

await main();
