// Register → answered and on disk, → capacity visible: one at a time, 100 and 500 at once over one connection.
// Beside it a bare grpc-js server that dials the same kind of plugins back and answers, in turns within one run.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { AdminPoll } from '../support/bench/admin-poll.js';
import { startCrowd } from '../support/bench/crowd.js';
import { FloorProcess } from '../support/bench/floor-process.js';
import { cpuMs } from '../support/bench/process-cost.js';
import { atMostTimes, now, quantile, say, spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { tempDir } from '../support/temp-dir.js';

/** Rounds that count, after as many as WARM that do not. */
const ROUNDS = 5;
const WARM = 2;
const IN_TURN = 100;
/** Plugins that are there while fewer register among them. */
const PRESENT = 1000;
const AMONG_MANY = 50;
const CROWDS = [100, 500] as const;

/** Rounds come faster than real plugins would: the limit on all registrations together is out of the way. */
const CONFIG = {
  flood: { global: { register: { burst: 100_000 } } },
  admission: { maxPlugins: 2000 },
  grace: { device: '100ms' },
};

/** One round of one side. */
interface Round {
  readonly each: readonly number[];
  readonly allMs: number;
  readonly visibleMs: number;
  readonly cpuMs: number;
}

const crowd = startCrowd();
const broker = new BrokerProcess(tempDir(), CONFIG);
const floorDir = path.join(tempDir(), 'f');
const floorSocket = path.join(floorDir, 'kubelet.sock');
let round = 0;

async function onBroker(poll: AdminPoll, count: number, atOnce: boolean, present = 0): Promise<Round> {
  round += 1;
  const plugins = { dir: broker.devicePlugins, name: `r${String(round)}`, count };
  await crowd.ask('serve', plugins);
  const cpu = cpuMs(broker.pid ?? 0);
  const began = now();
  const order = { kubeletSocket: broker.kubeletSocket, crowd: plugins };
  const { each, allMs } = await crowd.ask(atOnce ? 'registerAtOnce' : 'registerInTurn', order);
  const isVisible = async (): Promise<boolean> => {
    const seen = await poll.resources();
    return seen.size === count + present && [...seen.values()].every(({ allocatable }) => allocatable === 2);
  };
  await eventually('every capacity is visible', isVisible, { withinMs: 30_000 });
  const visibleMs = now() - began;
  const used = cpuMs(broker.pid ?? 0) - cpu;
  await crowd.ask('stop', plugins);
  await eventually('they are gone', async () => (await poll.resources()).size === present, { everyMs: 20 });
  return { each, allMs, visibleMs, cpuMs: used };
}

async function onFloor(floor: FloorProcess, count: number, atOnce: boolean): Promise<Round> {
  round += 1;
  const plugins = { dir: floorDir, name: `r${String(round)}`, count };
  await crowd.ask('serve', plugins);
  const cpu = cpuMs(floor.pid);
  const order = { kubeletSocket: floorSocket, crowd: plugins };
  const { each, allMs } = await crowd.ask(atOnce ? 'registerAtOnce' : 'registerInTurn', order);
  const used = cpuMs(floor.pid) - cpu;
  floor.forget();
  await crowd.ask('stop', plugins);
  return { each, allMs, visibleMs: allMs, cpuMs: used };
}

/** The time until one plugin, which registers alone, is seen by somebody who looks when it was answered. */
async function oneVisible(poll: AdminPoll): Promise<number[]> {
  round += 1;
  const plugins = { dir: broker.devicePlugins, name: `v${String(round)}`, count: IN_TURN };
  await crowd.ask('serve', plugins);
  const times: number[] = [];
  for (let nth = 0; nth < IN_TURN; nth++) {
    const one = { ...plugins, name: `v${String(round)}-${String(nth)}`, count: 1 };
    await crowd.ask('serve', one);
    const resource = `example.com/${one.name}-0`;
    const { at, allMs } = await crowd.ask('registerAtOnce', { kubeletSocket: broker.kubeletSocket, crowd: one });
    while ((await poll.resources(resource)).get(resource)?.allocatable !== 2);
    times.push(now() - at + allMs);
    await crowd.ask('stop', one);
  }
  await crowd.ask('stop', plugins);
  return times;
}

/** Registrations one at a time while so many other plugins are there, beside those while nobody is. */
async function amongMany(poll: AdminPoll): Promise<void> {
  const alone: Round[] = [];
  const among: Round[] = [];
  const others = { dir: broker.devicePlugins, name: 'present', count: PRESENT };
  for (let pass = 0; pass < ROUNDS; pass++) {
    alone.push(await onBroker(poll, AMONG_MANY, false));
  }
  await crowd.ask('serve', others);
  await crowd.ask('registerAtOnce', { kubeletSocket: broker.kubeletSocket, crowd: others });
  const areThere = async (): Promise<boolean> => (await poll.resources()).size === PRESENT;
  await eventually('the others are there', areThere, { withinMs: 30_000 });
  for (let pass = 0; pass < ROUNDS; pass++) among.push(await onBroker(poll, AMONG_MANY, false, PRESENT));
  await crowd.ask('stop', others);
  const of = (rounds: readonly Round[]) => spread(rounds.map(({ each }) => quantile(each, 0.5)));
  say({
    figure: `Register → answered and on disk, one at a time, among ${String(PRESENT)} plugins, p50`,
    unit: 'ms',
    broker: of(among),
    beside: [{ what: 'the same while no other plugin is there', value: of(alone) }],
    limit: atMostTimes(of(among), of(alone), 1.25),
  });
}

async function main(): Promise<void> {
  mkdirSync(floorDir, { recursive: true });
  await broker.start();
  const floor = await FloorProcess.listening('dial', floorSocket);
  const poll = new AdminPoll(path.join(broker.root, 'broker.sock'));
  const ours: Round[] = [];
  const theirs: Round[] = [];
  for (let pass = 0; pass < WARM + ROUNDS; pass++) {
    ours.push(await onBroker(poll, IN_TURN, false));
    theirs.push(await onFloor(floor, IN_TURN, false));
  }
  for (const share of [0.5, 0.99]) {
    const of = (rounds: readonly Round[]) => spread(rounds.slice(WARM).map(({ each }) => quantile(each, share)));
    say({
      figure: `Register → answered and on disk, one at a time, p${String(share * 100)}`,
      unit: 'ms',
      broker: of(ours),
      beside: [{ what: 'bare grpc-js dial-back', value: of(theirs) }],
      ...(share === 0.5 ? { limit: atMostTimes(of(ours), of(theirs), 2) } : {}),
    });
  }
  const visible = await oneVisible(poll);
  const value = { ...spread(visible), runs: visible.length };
  say({
    figure: 'Register → capacity seen, one at a time',
    unit: 'ms',
    broker: value,
    beside: [
      { what: 'bare grpc-js dial-back, answered', value: spread(theirs.slice(WARM).flatMap(({ each }) => each)) },
    ],
  });
  for (const count of CROWDS) {
    const mine: Round[] = [];
    const others: Round[] = [];
    for (let pass = 0; pass < WARM + ROUNDS; pass++) {
      mine.push(await onBroker(poll, count, true));
      others.push(await onFloor(floor, count, true));
    }
    const of = (rounds: readonly Round[], what: 'allMs' | 'visibleMs' | 'cpuMs') =>
      spread(rounds.slice(WARM).map((one) => one[what]));
    const [all, bare] = [of(mine, 'allMs'), of(others, 'allMs')];
    const beside = [{ what: 'bare grpc-js dial-back', value: bare }];
    const name = `${String(count)} Register at once over one connection`;
    say({
      figure: `${name} → all answered and on disk`,
      unit: 'ms',
      broker: all,
      beside,
      limit: atMostTimes(all, bare, 1.5),
    });
    say({ figure: `${name} → all capacities seen`, unit: 'ms', broker: of(mine, 'visibleMs'), beside });
    say({
      figure: `${name}, CPU time of the server until seen`,
      unit: 'ms of CPU',
      broker: of(mine, 'cpuMs'),
      beside: [{ what: 'bare grpc-js dial-back', value: of(others, 'cpuMs') }],
    });
  }
  await amongMany(poll);
  poll.close();
  await floor.end();
  await crowd.end();
  await broker.close();
}

await main();
