// The cost of floods: each under the policy and, beside it, with `mode: observe`; and the effect on a bystander, against its
// own unloaded time in the same run and against its time while a process uses up a core and touches nobody.
import { setTimeout as pause } from 'node:timers/promises';
import type { AdminPoll } from '../support/bench/admin-poll.js';
import { withBroker, type BrokerBed } from '../support/bench/broker-bed.js';
import { startCrowd, type Bystander } from '../support/bench/crowd.js';
import {
  LIST_DEVICES,
  LIST_STEPS,
  RESOURCE,
  startFlooder,
  type FlooderCalls,
  type Target,
} from '../support/bench/flooder.js';
import { cpuMs, descriptors, residentMiB } from '../support/bench/process-cost.js';
import { atMost, atMostTimes, now, quantile, say, spread, type Row } from '../support/bench/rows.js';
import { eventually } from '../support/eventually.js';
import type { Worker } from '../support/bench/worker.js';

type Flooder = Worker<FlooderCalls>;

const PASSES = { enforce: 2, observe: 1 } as const;
type Mode = keyof typeof PASSES;

const FLOODS = ['lists', 'registers', 'connections', 'names'] as const;
type Flood = (typeof FLOODS)[number];

/** How long the broker is alone with the flood before a bystander comes; milliseconds. */
const ALONE = { lists: 10_000, registers: 10_000, connections: 3000 } as const;
/** The bystanders are there and silent for so long: the broker's time for them is not the flood's. */
const CALM = 5000;
/** A plugin notes that a list has left soon after it has; lists of one length are further apart. Milliseconds. */
const NOTICED_WITHIN = 1000;
/** Ten lists may come at once (`flood.updates.burst`), and their code is new then: CPU is counted from here on. */
const BURST_OF_LISTS = 3000;
/** Names of one go: memory is looked at after the first and after the second. */
const NAMES = 10_000;
const WATCHED = 4000;
const BYSTANDER_EVERY = 15;
/** Long enough for every bystander to have come once. */
const WARM_UP = 2500;
/** The pace of `flood.updates`. */
const UPDATE_INTERVAL = 250;

/** The measurements of one pass, by figure. */
type Figures = Map<string, number>;

const crowd = startCrowd();

/** Runs with a fresh broker: a flooder that was quarantined in one part is not to be refused in the next. */
function onFresh(mode: Mode, run: (bed: BrokerBed) => Promise<void>): Promise<void> {
  return withBroker(crowd, { flood: { mode }, grace: { device: '1s' } }, run);
}

function bystander(target: Target, forMs: number = WATCHED): Promise<Bystander> {
  return crowd.ask('bystand', { ...target, everyMs: BYSTANDER_EVERY, forMs });
}

function keepTimes(figures: Figures, what: string, { each, refused }: Bystander): void {
  figures.set(`${what} p50`, quantile(each, 0.5));
  figures.set(`${what} p99`, quantile(each, 0.99));
  figures.set(`${what} refused`, refused);
}

/** How old the newest taken list is at most: for how long a newer one had left its plugin when somebody looked. */
function oldest(looks: readonly { at: number; devices: number }[], leftAt: readonly number[]): number {
  const ages = looks.map(({ at, devices }) => {
    const isIt = (leftMs: number, nth: number): boolean =>
      leftMs < at + NOTICED_WITHIN && (nth - (devices - LIST_DEVICES)) % LIST_STEPS === 0;
    return at - (leftAt[leftAt.findLastIndex(isIt) + 1] ?? Infinity);
  });
  return Math.max(0, ...ages);
}

/** The CPU time of the broker from a moment on, in per cent of a core. */
function cpuFrom(pid: number): () => number {
  const [cpu, at] = [cpuMs(pid), now()];
  return () => (100 * (cpuMs(pid) - cpu)) / (now() - at);
}

async function runFlood({ pid, poll, target }: BrokerBed, flood: Flood, figures: Figures): Promise<void> {
  await bystander(target, WARM_UP);
  keepTimes(figures, `${flood} unloaded`, await bystander(target));
  const calm = cpuFrom(pid);
  await pause(CALM);
  const calmCpu = calm();
  const flooder = startFlooder();
  const before = { memory: residentMiB(pid), descriptors: descriptors(pid) };
  let flooded = cpuFrom(pid);
  if (flood === 'lists') {
    await flooder.ask('lists', { target, queue: 1 });
    await pause(BURST_OF_LISTS);
    flooded = cpuFrom(pid);
  } else await flooder.ask(flood, target);
  if (flood === 'names') await afterNames(flooder, NAMES);
  else await pause(ALONE[flood]);
  figures.set(`${flood} cpu`, flooded() - calmCpu);
  const memory = residentMiB(pid);
  figures.set(`${flood} memory`, memory - before.memory);
  if (flood === 'names') {
    await afterNames(flooder, 2 * NAMES);
    figures.set('names further memory', residentMiB(pid) - memory);
  }
  figures.set(`${flood} descriptors`, descriptors(pid) - before.descriptors);
  keepTimes(figures, flood, await bystander(target));
  const looks = flood === 'lists' ? await lookAtLists(poll) : [];
  const { calls, good, leftAt } = await flooder.ask('stop');
  figures.set(`${flood} calls`, calls);
  figures.set(`${flood} good`, good);
  if (flood === 'lists') figures.set('lists age', oldest(looks, leftAt));
  await flooder.end();
}

async function afterNames(flooder: Flooder, names: number): Promise<void> {
  await eventually(`${String(names)} names`, async () => (await flooder.ask('calls')) >= names, {
    // A process that floods is served slowly: about 150 names a second in one measurement.
    withinMs: 300_000,
    everyMs: 50,
  });
}

/** How many devices the broker saw, again and again. */
async function lookAtLists(poll: AdminPoll): Promise<{ at: number; devices: number }[]> {
  const looks: { at: number; devices: number }[] = [];
  const until = now() + 3000;
  while (now() < until) {
    const at = now();
    looks.push({ at, devices: (await poll.resources(RESOURCE)).get(RESOURCE)?.capacity ?? 0 });
    await pause(10);
  }
  return looks;
}

/** Milliseconds from the last list of a sender that lets sixteen wait until that list is the one that counts. */
async function drain({ poll, target }: BrokerBed, figures: Figures): Promise<void> {
  const flooder = startFlooder();
  await flooder.ask('lists', { target, queue: 16 });
  await pause(2000);
  const { sent } = await flooder.ask('stop');
  const began = now();
  const last = LIST_DEVICES + ((sent - 1) % LIST_STEPS);
  await eventually(
    'the last list counts',
    async () => (await poll.resources(RESOURCE)).get(RESOURCE)?.capacity === last,
    { withinMs: 60_000 },
  );
  figures.set('drain', now() - began);
  await flooder.end();
}

/** The effect on a bystander of a process that uses up a core and touches nobody. */
async function besideBurner({ target }: BrokerBed, figures: Figures): Promise<void> {
  await bystander(target, WARM_UP);
  const burner = startFlooder();
  await burner.ask('burn', WATCHED);
  keepTimes(figures, 'busy machine', await bystander(target));
  await burner.end();
}

async function pass(mode: Mode): Promise<Figures> {
  const figures: Figures = new Map();
  for (const flood of FLOODS) await onFresh(mode, (bed) => runFlood(bed, flood, figures));
  await onFresh(mode, (bed) => drain(bed, figures));
  if (mode === 'enforce') await onFresh(mode, (bed) => besideBurner(bed, figures));
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
    row(`${words}: CPU that it costs the broker`, '% of a core', `${flood} cpu`, cpuLimit[flood]);
    const memory = of('enforce', `${flood} memory`);
    row(`${words}: memory it grew by`, 'MB', `${flood} memory`, flood === 'registers' ? atMost(memory, 10) : undefined);
    if (flood === 'names') {
      const further = of('enforce', 'names further memory');
      row(`${words}: memory it grew by with 10,000 more`, 'MB', 'names further memory', atMost(further, 10));
    }
    row(`${words}: descriptors it grew by`, 'descriptors', `${flood} descriptors`);
    if (flood !== 'lists') {
      row(`${words}: calls`, 'calls', `${flood} calls`);
      row(`${words}: of these answered well`, 'calls', `${flood} good`);
    }
    for (const share of ['p50', 'p99']) {
      const value = of('enforce', `${flood} ${share}`);
      const unloaded = of('enforce', `${flood} unloaded ${share}`);
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

process.once('SIGTERM', () => process.exit(1));
await main();
