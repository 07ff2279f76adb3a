// The effect of HTTP/2 attacks on a bystander, and the memory that they leave: one of each kind that the border ends, repeated
// by a process of its own that connects again as soon as it is cut off. The limits on connections are the usual ones; the
// deadlines of the border are a second, so that the slow attacks are cut off within the few seconds that each is given.
import { chownSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startAttacker } from '../support/bench/attacker-process.js';
import { withBroker, type BrokerBed } from '../support/bench/broker-bed.js';
import { deadSockets } from '../support/dead-sockets.js';
import { ANSWER_FLOODS, startHostile, type AnswerFlood } from '../support/bench/hostile-process.js';
import { startCrowd } from '../support/bench/crowd.js';
import { cpuMs, descriptors, residentMiB } from '../support/bench/process-cost.js';
import { atMost, atMostTimes, now, quantile, say, spread, type Row } from '../support/bench/rows.js';
import { ATTACKS } from '../support/http2/attacks.js';

const DEADLINE = '1s';
const ATTACKED = 3000;
const UNLOADED = 6000;
/** The broker is left alone for so long before its memory is looked at. */
const IDLE = 700;
const BYSTANDER_EVERY = 15;
/** Long enough for every bystander to have come once. */
const WARM_UP = 2500;
const CONNECTIONS = 4;
/** Rounds, in each of which the bystander is alone first and then beside each attack: a p99 of one round is a few calls. */
const ROUNDS = 3;
/** More of them where the limit is on the p99: a stall of the machine is in one round, and not in most. */
const BESIDE_ROUNDS = 5;

/** One for each code with which the border ends a connection, but for those that need a served call, or age. */
const NAMES = [
  'rapid reset',
  'made-you-reset by trailers that do not end the request',
  'a flood of small CONTINUATION frames',
  'a header bomb',
  'a flood of SETTINGS',
  'a flood of PING',
  'a flood of PRIORITY',
  'a flood of frames of no known type',
  'a flood of WINDOW_UPDATE',
  'a flood of DATA without octets',
  'calls whose answers are not read',
  'a header block that never ends',
  'silence after connecting',
  'far more calls at once than the server allows',
  'another protocol',
] as const;

/** Only these rows are measured: those whose name has this in it (`PB_BENCH_ONLY='dead sockets' npm run bench -- attacks`). */
const ONLY = process.env['PB_BENCH_ONLY'] ?? '';
const isWanted = (name: string): boolean => name.includes(ONLY);

/** A directory of the registry that is full of them. */
const DEAD_SOCKETS = [1000, 9000] as const;
const OTHER_UID = 4001;

/** Connections that are served, and more than are: some meet a refusal, which has a pace of its own. */
const READERS = [20, 64] as const;

const crowd = startCrowd();

/** The outcome of one attack. */
interface Attacked {
  readonly name: string;
  readonly each: readonly number[];
  readonly cpu: number;
  readonly cutOff: number;
  readonly refused: number;
  readonly memory: number;
  readonly descriptors: number;
}

async function bystand({ target }: BrokerBed, forMs: number): Promise<readonly number[]> {
  const { each, refused } = await crowd.ask('bystand', { ...target, everyMs: BYSTANDER_EVERY, forMs });
  if (refused > 0) throw new Error(`${String(refused)} registrations of bystanders were refused`);
  return each;
}

async function attack(bed: BrokerBed, name: string): Promise<Attacked> {
  const nth = ATTACKS.findIndex((other) => other.name === name);
  const { code } = ATTACKS[nth]!;
  const { broker, pid } = bed;
  const logged = broker.log.length;
  const before = { memory: residentMiB(pid), descriptors: descriptors(pid) };
  const attacker = startAttacker();
  await attacker.ask('begin', { path: broker.kubeletSocket, nth, connections: CONNECTIONS });
  const [cpu, began] = [cpuMs(pid), now()];
  const each = await bystand(bed, ATTACKED);
  const share = (100 * (cpuMs(pid) - cpu)) / (now() - began);
  const { cutOff, refused } = await attacker.ask('stop');
  await attacker.end();
  await pause(IDLE);
  if (cutOff === 0 || !broker.log.slice(logged).includes(code)) throw new Error(`${name} was not ended with ${code}`);
  return {
    name,
    each,
    cpu: share,
    cutOff,
    refused,
    memory: residentMiB(pid) - before.memory,
    descriptors: descriptors(pid) - before.descriptors,
  };
}

/** One attack, by round, beside the bystander alone in the same rounds. */
function sayAttack(name: string, attacks: readonly Attacked[], unloaded: readonly (readonly number[])[]): void {
  for (const [words, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const value = spread(attacks.map(({ each }) => quantile(each, share)));
    const alone = spread(unloaded.map((each) => quantile(each, share)));
    say({
      figure: `${name}: a bystander's Register, ${words}`,
      unit: 'ms',
      broker: value,
      beside: [{ what: 'unloaded', value: alone }],
      ...(words === 'p99' ? { limit: atMostTimes(value, alone, 2) } : {}),
    });
  }
  const row = (figure: string, unit: Row['unit'], of: (attacked: Attacked) => number, most?: number): void => {
    const value = spread(attacks.map(of));
    say({
      figure: `${name}: ${figure}`,
      unit,
      broker: value,
      beside: [],
      ...(most === undefined ? {} : { limit: atMost(value, most) }),
    });
  };
  row('CPU of the broker, bystander included', '% of a core', ({ cpu }) => cpu);
  row('connections cut off', 'connections', ({ cutOff }) => cutOff);
  row('connections refused', 'connections', ({ refused }) => refused);
  row('memory it left behind', 'MB', ({ memory }) => memory, 10);
  row('descriptors it left behind', 'descriptors', ({ descriptors }) => descriptors, 0);
}

/** The effect of a hostile process or directory on a bystander, and the memory that is left when it is gone. */
async function beside(bed: BrokerBed, name: string, begin: () => Promise<() => Promise<unknown>>): Promise<void> {
  const each: (readonly number[])[] = [];
  const unloaded: (readonly number[])[] = [];
  const left: number[] = [];
  const share: number[] = [];
  for (let round = 0; round < BESIDE_ROUNDS; round++) {
    unloaded.push(await bystand(bed, ATTACKED));
    const memory = residentMiB(bed.pid);
    const end = await begin();
    const [cpu, began] = [cpuMs(bed.pid), now()];
    each.push(await bystand(bed, ATTACKED));
    share.push((100 * (cpuMs(bed.pid) - cpu)) / (now() - began));
    await end();
    await pause(IDLE);
    left.push(residentMiB(bed.pid) - memory);
  }
  for (const [words, part, most] of [
    ['p50', 0.5, 1.5],
    ['p99', 0.99, 2],
  ] as const) {
    const value = spread(each.map((one) => quantile(one, part)));
    const alone = spread(unloaded.map((one) => quantile(one, part)));
    say({
      figure: `${name}: a bystander's Register, ${words}`,
      unit: 'ms',
      broker: value,
      beside: [{ what: 'unloaded', value: alone }],
      limit: atMostTimes(value, alone, most),
    });
  }
  say({
    figure: `${name}: CPU of the broker, bystander included`,
    unit: '% of a core',
    broker: spread(share),
    beside: [],
  });
  const kept = spread(left);
  say({ figure: `${name}: memory it left behind`, unit: 'MB', broker: kept, beside: [], limit: atMost(kept, 20) });
}

/** Plugins that answer with floods, readers of pages, and a directory of sockets on which nobody listens. */
async function hostile(): Promise<void> {
  const http = { listen: '127.0.0.1:0' };
  for (const how of (Object.keys(ANSWER_FLOODS) as AnswerFlood[]).filter(isWanted)) {
    await withBroker(crowd, {}, async (bed) => {
      await bystand(bed, WARM_UP);
      await beside(bed, how, async () => {
        const worker = startHostile();
        await worker.ask('answer', { ...bed.target, how });
        return () => worker.end();
      });
    });
  }
  for (const connections of READERS) {
    const name = `GET /metrics from ${String(connections)} connections without waiting`;
    if (!isWanted(name)) continue;
    await withBroker(crowd, { http }, async (bed) => {
      await bystand(bed, WARM_UP);
      const port = Number(/served on 127\.0\.0\.1:(\d+)/.exec(bed.broker.log)?.[1]);
      await beside(bed, name, async () => {
        const worker = startHostile();
        await worker.ask('ask', { port, connections });
        return () => worker.end();
      });
    });
  }
  // Only root can give a directory away; sockets of the broker's own user are trusted with more.
  for (const count of process.getuid?.() === 0 ? DEAD_SOCKETS : []) {
    const name = `${String(count)} dead sockets of another user in the registry`;
    if (!isWanted(name)) continue;
    await withBroker(crowd, {}, async (bed) => {
      await bystand(bed, WARM_UP);
      const folder = path.join(bed.broker.registry, 'hostile');
      await beside(bed, name, async () => {
        mkdirSync(folder);
        chownSync(folder, OTHER_UID, OTHER_UID);
        deadSockets(folder, count, OTHER_UID);
        return () => rm(folder, { recursive: true });
      });
    });
  }
}

async function main(): Promise<void> {
  await hostile();
  const guard = { preface: DEADLINE, headers: DEADLINE, halfOpen: DEADLINE, unread: DEADLINE };
  const unloaded: (readonly number[])[] = [];
  const rounds: Attacked[] = [];
  const names = NAMES.filter(isWanted);
  await withBroker(crowd, { guard }, async (bed) => {
    if (names.length > 0) await bystand(bed, WARM_UP);
    for (let round = 0; round < (names.length === 0 ? 0 : ROUNDS); round++) {
      unloaded.push(await bystand(bed, UNLOADED));
      for (const name of names) rounds.push(await attack(bed, name));
    }
  });
  for (const name of names) {
    sayAttack(
      name,
      rounds.filter((attacked) => attacked.name === name),
      unloaded,
    );
  }
  await crowd.end();
}

process.once('SIGTERM', () => process.exit(1));
await main();
