// What a bystander notices of HTTP/2 attacks, and what they leave behind: one of each kind that the border ends, repeated
// by a process of its own that connects again as soon as it is cut off. The limits on connections are the usual ones; the
// deadlines of the border are a second, so that the slow attacks are cut off within the few seconds that each is given.
import { setTimeout as pause } from 'node:timers/promises';
import { startAttacker } from '../support/bench/attacker-process.js';
import { withBroker, type BrokerBed } from '../support/bench/broker-bed.js';
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

const crowd = startCrowd();

/** What one attack came to. */
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

async function main(): Promise<void> {
  const guard = { preface: DEADLINE, headers: DEADLINE, halfOpen: DEADLINE, unread: DEADLINE };
  const unloaded: (readonly number[])[] = [];
  const rounds: Attacked[] = [];
  await withBroker(crowd, { guard }, async (bed) => {
    await bystand(bed, WARM_UP);
    for (let round = 0; round < ROUNDS; round++) {
      unloaded.push(await bystand(bed, UNLOADED));
      for (const name of NAMES) rounds.push(await attack(bed, name));
    }
  });
  for (const name of NAMES) {
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
