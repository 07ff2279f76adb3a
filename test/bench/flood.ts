// What floods cost: each under the policy and, beside it, with `mode: observe`; and what a bystander notices, against its
// own unloaded time in the same run and against its time while a process uses up a core and touches nobody.
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminPoll } from '../support/bench/admin-poll.js';
import { startCrowd, type Bystander } from '../support/bench/crowd.js';
import { LIST_DEVICES, LIST_STEPS, startFlooder, type Target } from '../support/bench/flooder.js';
import { cpuMs, descriptors, residentMiB } from '../support/bench/process-cost.js';
import { atMost, atMostTimes, now, quantile, say, spread, type Row } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { tempDir } from '../support/temp-dir.js';

const PASSES = { enforce: 2, observe: 1 } as const;
type Mode = keyof typeof PASSES;

const FLOODS = ['lists', 'registers', 'connections', 'names'] as const;
type Flood = (typeof FLOODS)[number];

/** The broker alone with the flood, and then with a bystander; milliseconds. */
const ALONE: Readonly<Record<Flood, number>> = { lists: 4000, registers: 10_000, connections: 4000, names: 3000 };
const WATCHED = 4000;
const BYSTANDER_EVERY = 20;
/** The pace of `flood.updates`. */
const UPDATE_INTERVAL = 250;

/** What one pass measured, by figure. */
type Figures = Map<string, number>;

const crowd = startCrowd();

async function bystander(target: Target): Promise<Bystander> {
  const seen = await crowd.ask('bystand', { ...target, everyMs: BYSTANDER_EVERY, forMs: WATCHED });
  if (seen.refused > seen.each.length / 2)
    process.stderr.write(`most bystanders were refused: ${String(seen.refused)}\n`);
  return seen;
}

function keepTimes(figures: Figures, what: string, { each, refused }: Bystander): void {
  figures.set(`${what} p50`, quantile(each, 0.5));
  figures.set(`${what} p99`, quantile(each, 0.99));
  figures.set(`${what} refused`, refused);
}

/** How old the newest taken list is at most: for how long a newer one had left its plugin when somebody looked. */
function oldest(looks: readonly { at: number; devices: number }[], leftAt: readonly number[]): number {
  let nth = 0;
  let age = 0;
  for (const { at, devices } of looks) {
    const step = devices - LIST_DEVICES;
    nth += (step - (nth % LIST_STEPS) + LIST_STEPS) % LIST_STEPS;
    age = Math.max(age, at - (leftAt[nth + 1] ?? Infinity));
  }
  return age;
}

async function runFlood(broker: BrokerProcess, flood: Flood, poll: AdminPoll, figures: Figures): Promise<void> {
  const flooder = startFlooder();
  const pid = broker.pid ?? 0;
  const target = { kubeletSocket: broker.kubeletSocket, dir: broker.devicePlugins };
  const before = { memory: residentMiB(pid), descriptors: descriptors(pid) };
  if (flood === 'lists') await flooder.ask('lists', { target, queue: 1 });
  else await flooder.ask(flood, target);
  const [cpu, began] = [cpuMs(pid), now()];
  await pause(ALONE[flood]);
  figures.set(`${flood} cpu`, (100 * (cpuMs(pid) - cpu)) / (now() - began));
  figures.set(`${flood} memory`, residentMiB(pid) - before.memory);
  figures.set(`${flood} descriptors`, descriptors(pid) - before.descriptors);
  keepTimes(figures, flood, await bystander(target));
  const looks: { at: number; devices: number }[] = [];
  if (flood === 'lists') {
    const until = now() + 3000;
    while (now() < until) {
      const at = now();
      looks.push({
        at,
        devices: (await poll.resources('example.com/flooder')).get('example.com/flooder')?.capacity ?? 0,
      });
      await pause(10);
    }
  }
  const { calls, good, leftAt } = await flooder.ask('stop');
  figures.set(`${flood} calls`, calls);
  figures.set(`${flood} good`, good);
  if (flood === 'lists') figures.set('lists age', oldest(looks, leftAt));
  await flooder.end();
  await eventually(
    'the flooder is lost',
    async () => (await poll.resources('example.com/flooder')).get('example.com/flooder')?.allocatable !== LIST_DEVICES,
  );
}

/** Milliseconds from the last list of a sender that lets sixteen wait until that list is the one that counts. */
async function drain(broker: BrokerProcess, poll: AdminPoll): Promise<number> {
  const flooder = startFlooder();
  const name = 'example.com/flooder';
  await flooder.ask('lists', { target: { kubeletSocket: broker.kubeletSocket, dir: broker.devicePlugins }, queue: 16 });
  await pause(2000);
  const { sent } = await flooder.ask('stop');
  const began = now();
  const last = LIST_DEVICES + ((sent - 1) % LIST_STEPS);
  await eventually('the last list counts', async () => (await poll.resources(name)).get(name)?.capacity === last, {
    withinMs: 60_000,
  });
  const took = now() - began;
  await flooder.end();
  return took;
}

async function pass(mode: Mode): Promise<Figures> {
  const figures: Figures = new Map();
  const broker = new BrokerProcess(tempDir(), { flood: { mode }, grace: { device: '1s' } });
  await broker.start();
  const poll = new AdminPoll(path.join(broker.root, 'broker.sock'));
  const target = { kubeletSocket: broker.kubeletSocket, dir: broker.devicePlugins };
  await bystander(target); // warm up
  keepTimes(figures, 'unloaded', await bystander(target));
  const burner = startFlooder();
  await burner.ask('burn', WATCHED);
  keepTimes(figures, 'busy machine', await bystander(target));
  await burner.end();
  for (const flood of FLOODS) {
    await runFlood(broker, flood, poll, figures);
    // The bystanders of the next one have all their permits again.
    await pause(500);
  }
  figures.set('drain', await drain(broker, poll));
  poll.close();
  await crowd.ask('hangUp', broker.kubeletSocket);
  await broker.close();
  return figures;
}

const WORDS: Readonly<Record<Flood, string>> = {
  lists: 'ListAndWatch flood of 10,000 devices',
  registers: 'Register loop',
  connections: 'connect loop',
  names: 'Register under 10,000 names',
};

async function main(): Promise<void> {
  const passes = { enforce: [] as Figures[], observe: [] as Figures[] };
  for (const mode of ['enforce', 'observe'] as const) {
    for (let nth = 0; nth < PASSES[mode]; nth++) passes[mode].push(await pass(mode));
  }
  const of = (mode: Mode, what: string) => spread(passes[mode].map((figures) => figures.get(what) ?? NaN));
  const row = (figure: string, unit: Row['unit'], what: string, limit?: Row['limit']): void =>
    say({
      figure,
      unit,
      broker: of('enforce', what),
      beside: [{ what: 'mode: observe', value: of('observe', what) }],
      ...(limit === undefined ? {} : { limit }),
    });
  for (const flood of FLOODS) {
    const words = WORDS[flood];
    const cpu = of('enforce', `${flood} cpu`);
    const cpuLimit = { lists: atMost(cpu, 5), registers: atMost(cpu, 15), connections: undefined, names: undefined };
    row(`${words}: CPU of the broker`, '% of a core', `${flood} cpu`, cpuLimit[flood]);
    const memory = of('enforce', `${flood} memory`);
    row(`${words}: memory it grew by`, 'MB', `${flood} memory`, flood === 'registers' ? atMost(memory, 10) : undefined);
    row(`${words}: descriptors it grew by`, 'descriptors', `${flood} descriptors`);
    if (flood !== 'lists') {
      row(`${words}: calls`, 'calls', `${flood} calls`);
      row(`${words}: of these answered well`, 'calls', `${flood} good`);
    }
    for (const share of ['p50', 'p99']) {
      const value = of('enforce', `${flood} ${share}`);
      const unloaded = of('enforce', `unloaded ${share}`);
      say({
        figure: `${words}: a bystander's Register, ${share}`,
        unit: 'ms',
        broker: value,
        beside: [
          { what: 'unloaded', value: unloaded },
          { what: 'while another process uses up a core', value: of('enforce', `busy machine ${share}`) },
          { what: 'mode: observe', value: of('observe', `${flood} ${share}`) },
        ],
        ...(share === 'p99' ? { limit: atMostTimes(value, unloaded, 2) } : {}),
      });
    }
    row(`${words}: bystanders refused`, 'calls', `${flood} refused`);
    if (flood !== 'lists') continue;
    const age = of('enforce', 'lists age');
    row(`${words}: age of the newest taken list at most`, 'ms', 'lists age', atMost(age, UPDATE_INTERVAL));
    row(`${words}: time to drain a sender that lets 16 wait`, 'ms', 'drain');
  }
  await crowd.end();
}

await main();
