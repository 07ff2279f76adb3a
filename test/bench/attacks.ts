// The effect of HTTP/2 attacks on a bystander, and the memory that they leave: one of each kind that the border ends, repeated
// by a process of its own that connects again as soon as it is cut off. The limits on connections are the usual ones; the
// deadlines of the border are a second, so that the slow attacks are cut off within the few seconds that each is given.
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startAttacker } from '../support/bench/attacker-process.js';
import { withBroker, type BrokerBed } from '../support/bench/broker-bed.js';
import { makeDeadSockets } from '../support/dead-sockets.js';
import { startCrowd } from '../support/bench/crowd.js';
import {
  ANSWER_FLOODS,
  startHostile,
  type AnswerFlood,
  type HostileCalls,
  type Outcome,
} from '../support/bench/hostile-process.js';
import { cpuMs, descriptors, residentMiB } from '../support/bench/process-cost.js';
import { atMost, atMostTimes, now, quantile, say, spread, type Row } from '../support/bench/rows.js';
import type { Worker } from '../support/bench/worker.js';
import { eventually } from '../support/eventually.js';
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

/**
 * One for each code with which the border ends a connection, but for those that need a served call, or age. Answers that are not read
 * need served calls: refused ones have a pace, so that their answers fill no buffer.
 */
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
const isRoot = process.getuid?.() === 0;
/** Newcomers at the watcher door that take turns, so that none is counted out, and the time between two of them. */
const NEWCOMERS = 40;
const NEWCOMER_EVERY = 50;
const OVER: ReadonlySet<string> = new Set(['gone', 'rejected', 'quarantined']);
const SERVED_ON = /served on 127\.0\.0\.1:(\d+)/;
/** An attack that succeeded less often than once in half a second of a round did not take place, or stopped soon. */
const FEWEST = ATTACKED / 500;

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

/** Plugins of root that wait in the registry, one after the other. @returns milliseconds from each appearance to its Notify */
async function appearing({ broker }: BrokerBed, forMs: number): Promise<readonly number[]> {
  const each: number[] = [];
  const until = now() + forMs;
  for (let nth = 0; now() < until; nth++) {
    const newcomer = { dir: broker.registry, name: `newcomer-${String(nth % NEWCOMERS)}`, count: 1 };
    each.push(...(await crowd.ask('appear', newcomer)));
    await crowd.ask('stop', newcomer);
    await pause(NEWCOMER_EVERY);
  }
  return each;
}

async function attack(bed: BrokerBed, name: string): Promise<Attacked> {
  const nth = ATTACKS.findIndex((other) => other.name === name);
  const { code } = ATTACKS[nth]!;
  const { broker, pid } = bed;
  const before = { memory: residentMiB(pid), descriptors: descriptors(pid) };
  const attacker = startAttacker();
  await attacker.ask('begin', { path: broker.kubeletSocket, nth, connections: CONNECTIONS });
  const [cpu, began] = [cpuMs(pid), now()];
  const each = await bystand(bed, ATTACKED);
  const share = (100 * (cpuMs(pid) - cpu)) / (now() - began);
  const { cutOff, told, refused } = await attacker.ask('stop');
  await attacker.end();
  await pause(IDLE);
  // Not by the log: of like ends of one user it tells the first, and how many more there were much later.
  if (told < FEWEST) throw new Error(`${name}: ${String(told)} of ${String(cutOff)} were ended with ${code}`);
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

/** The subject that is attacked in a round, and the attacker. */
interface Hostility {
  /** Looked at while nobody attacks, and beside the attack; times in milliseconds. */
  readonly watch: () => Promise<readonly number[]>;
  /** Starts to attack. Ends it, and throws where it did not take place. */
  readonly begin: () => Promise<() => Promise<Partial<Outcome>>>;
}

/** In words, and how many times as long it may be beside the attack. */
type Share = readonly [words: string, share: number, most?: number];
const REGISTERED: readonly Share[] = [
  ['p50', 0.5, 1.5],
  ['p99', 0.99, 2],
];
/** Of a few dozen in a round. */
const APPEARED: readonly Share[] = [
  ['p50', 0.5],
  ['the longest', 1],
];

/** The outcome, by round. */
interface Besieged {
  readonly each: readonly number[];
  readonly unloaded: readonly number[];
  /** CPU of the broker, in per cent of a core. */
  readonly share: number;
  /** Memory that is left, in MB. */
  readonly left: number;
  readonly outcome: Partial<Outcome>;
}

/** The effect of a hostile process or directory, and the memory that is left when it is gone. */
async function besiege({ pid }: BrokerBed, { watch, begin }: Hostility): Promise<readonly Besieged[]> {
  const rounds: Besieged[] = [];
  for (let round = 0; round < BESIDE_ROUNDS; round++) {
    const unloaded = await watch();
    const memory = residentMiB(pid);
    const end = await begin();
    const [cpu, began] = [cpuMs(pid), now()];
    const each = await watch();
    const share = (100 * (cpuMs(pid) - cpu)) / (now() - began);
    const outcome = await end();
    await pause(IDLE);
    rounds.push({ each, unloaded, share, left: residentMiB(pid) - memory, outcome });
  }
  return rounds;
}

/** Says the times that were watched, by shares of them, beside the same without the attack. */
function sayTimes(figure: string, rounds: readonly Besieged[], shares: readonly Share[]): void {
  for (const [words, part, most] of shares) {
    const value = spread(rounds.map(({ each }) => quantile(each, part)));
    const alone = spread(rounds.map(({ unloaded }) => quantile(unloaded, part)));
    say({
      figure: `${figure}, ${words}`,
      unit: 'ms',
      broker: value,
      beside: [{ what: 'unloaded', value: alone }],
      ...(most === undefined ? {} : { limit: atMostTimes(value, alone, most) }),
    });
  }
}

/** The effect on a bystander; `outcomes` names what is to be said of the attack itself. */
function sayRounds(
  name: string,
  rounds: readonly Besieged[],
  outcomes: readonly (readonly [keyof Outcome, Row['unit'], string])[] = [],
): void {
  sayTimes(`${name}: a bystander's Register`, rounds, REGISTERED);
  const row = (figure: string, unit: Row['unit'], of: (round: Besieged) => number, most?: number): void => {
    const value = spread(rounds.map(of));
    const limit = most === undefined ? {} : { limit: atMost(value, most) };
    say({ figure: `${name}: ${figure}`, unit, broker: value, beside: [], ...limit });
  };
  row('CPU of the broker, bystander included', '% of a core', ({ share }) => share);
  for (const [which, unit, figure] of outcomes) row(figure, unit, ({ outcome }) => outcome[which] ?? NaN);
  row('memory it left behind', 'MB', ({ left }) => left, 20);
}

/** A hostile process, as an ordinary user where we may choose. */
async function startOther(): Promise<Worker<HostileCalls>> {
  const worker = startHostile();
  if (isRoot) await worker.ask('become', OTHER_UID);
  return worker;
}

/** Lists that are floods, from ever new plugins of another user, each at a socket of its own. */
async function answers(how: AnswerFlood): Promise<void> {
  const ours = { socket: { mode: '0777' }, grace: { device: '1s' } };
  await withBroker(crowd, ours, async (bed) => {
    const { broker, target } = bed;
    const dir = path.join(target.dir, 'hostile');
    mkdirSync(dir);
    if (isRoot) chownSync(dir, OTHER_UID, OTHER_UID);
    for (const above of [broker.root, target.dir]) chmodSync(above, 0o755);
    const begin = async (): Promise<() => Promise<Outcome>> => {
      const logged = broker.log.length;
      const worker = await startOther();
      await worker.ask('answer', { kubeletSocket: target.kubeletSocket, dir, how });
      return async () => {
        const outcome = await worker.ask('stop');
        await worker.end();
        for (const name of readdirSync(dir)) rmSync(path.join(dir, name));
        if (outcome.done < FEWEST || !broker.log.slice(logged).includes(ANSWER_FLOODS[how].code)) {
          throw new Error(`${how}: it took place ${String(outcome.done)} times in a round`);
        }
        await eventually('its plugins have left', async () =>
          (await broker.plugins()).every(({ name, state }) => !name.includes('/hostile-') || OVER.has(state)),
        );
        return outcome;
      };
    };
    await bystand(bed, WARM_UP);
    const rounds = await besiege(bed, { watch: () => bystand(bed, ATTACKED), begin });
    sayRounds(how, rounds, [
      ['done', 'connections', 'connections cut off'],
      ['refused', 'calls', 'registrations of it refused'],
    ]);
  });
}

/** Pages that are asked for without waiting. */
async function readers(name: string, connections: number): Promise<void> {
  await withBroker(crowd, { http: { listen: '127.0.0.1:0' } }, async (bed) => {
    const port = await eventually('pages are served', () => SERVED_ON.exec(bed.broker.log)?.[1]);
    const begin = async (): Promise<() => Promise<Outcome>> => {
      const worker = await startOther();
      await worker.ask('ask', { port: Number(port), connections });
      return async () => {
        const outcome = await worker.ask('stop');
        await worker.end();
        if (outcome.done < FEWEST) throw new Error(`${name}: ${String(outcome.done)} were answered in a round`);
        return outcome;
      };
    };
    await bystand(bed, WARM_UP);
    const rounds = await besiege(bed, { watch: () => bystand(bed, ATTACKED), begin });
    sayRounds(name, rounds, [
      ['done', 'calls', 'pages served'],
      ['refused', 'calls', 'calls refused'],
    ]);
  });
}

/** A directory of the registry that another user fills with dead sockets, while others register and while others appear. */
async function dead(name: string, count: number): Promise<void> {
  await withBroker(crowd, {}, async (bed) => {
    const folder = path.join(bed.broker.registry, 'hostile');
    let isMaking = false;
    const begin = async (): Promise<() => Promise<Partial<Outcome>>> => {
      mkdirSync(folder);
      chownSync(folder, OTHER_UID, OTHER_UID);
      isMaking = true;
      const made = makeDeadSockets(folder, count, OTHER_UID).finally(() => (isMaking = false));
      return async () => {
        await made;
        const there = readdirSync(folder).length;
        await rm(folder, { recursive: true });
        if (there !== count) throw new Error(`${name}: ${String(there)} were there at the end of a round`);
        return {};
      };
    };
    // A nice process may be late on a busy machine: no round is over before all are there.
    const whole = (watch: (forMs: number) => Promise<readonly number[]>) => async (): Promise<readonly number[]> => {
      const each: number[] = [];
      do each.push(...(await watch(ATTACKED)));
      while (isMaking);
      return each;
    };
    await bystand(bed, WARM_UP);
    const register = await besiege(bed, { watch: whole((forMs) => bystand(bed, forMs)), begin });
    sayRounds(name, register);
    const rounds = await besiege(bed, { watch: whole((forMs) => appearing(bed, forMs)), begin });
    sayTimes(`${name}: a registration socket appears, to Notify`, rounds, APPEARED);
  });
}

/** Plugins that answer with floods, readers of pages, and a directory of sockets on which nobody listens. */
async function hostile(): Promise<void> {
  for (const how of (Object.keys(ANSWER_FLOODS) as AnswerFlood[]).filter(isWanted)) await answers(how);
  for (const connections of READERS) {
    const name = `GET /metrics from ${String(connections)} connections without waiting`;
    if (isWanted(name)) await readers(name, connections);
  }
  // Only root can give a directory away; sockets of the broker's own user are trusted with more.
  for (const count of isRoot ? DEAD_SOCKETS : []) {
    const name = `${String(count)} dead sockets of another user in the registry`;
    if (isWanted(name)) await dead(name, count);
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
