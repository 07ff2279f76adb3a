// A registration socket appears → NotifyRegistrationStatus, for 1 and for 100 at once. Beside it a bare grpc-js client that
// asks the same sockets when the system says that a name has appeared.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { startCrowd } from '../support/bench/crowd.js';
import { FloorProcess } from '../support/bench/floor-process.js';
import { atMostTimes, quantile, say, spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { tempDir } from '../support/temp-dir.js';

const SINGLE = 40;
const WARM = 10;
const ROUNDS = 4;
const AT_ONCE = 100;

const crowd = startCrowd();
let round = 0;

/** Milliseconds of each socket of one go. */
async function appear(dir: string, count: number): Promise<number[]> {
  round += 1;
  const plugins = { dir, name: `w${String(round)}`, count };
  const times = await crowd.ask('appear', plugins);
  await crowd.ask('stop', plugins);
  return times;
}

async function main(): Promise<void> {
  const broker = new BrokerProcess(tempDir(), { flood: { global: { register: { burst: 100_000 } } } });
  await broker.start();
  const dir = path.join(tempDir(), 'w');
  mkdirSync(dir);
  const floor = await FloorProcess.listening('watch', dir);
  const single = { broker: [] as number[], floor: [] as number[] };
  for (let nth = 0; nth < WARM + SINGLE; nth++) {
    const [ours, theirs] = [await appear(broker.registry, 1), await appear(dir, 1)];
    if (nth < WARM) continue;
    single.broker.push(...ours);
    single.floor.push(...theirs);
  }
  const beside = [{ what: 'bare grpc-js on fs.watch', value: spread(single.floor) }];
  const one = spread(single.broker);
  say({
    figure: '1 socket appears → Notify',
    unit: 'ms',
    broker: one,
    beside,
    limit: atMostTimes(one, spread(single.floor), 2.5),
  });
  const many = { broker: [] as number[][], floor: [] as number[][] };
  for (let nth = 0; nth < 1 + ROUNDS; nth++) {
    const [ours, theirs] = [await appear(broker.registry, AT_ONCE), await appear(dir, AT_ONCE)];
    if (nth === 0) continue;
    many.broker.push(ours);
    many.floor.push(theirs);
  }
  for (const [word, share] of [
    ['p50', 0.5],
    ['the last', 1],
  ] as const) {
    const of = (rounds: readonly number[][]) => spread(rounds.map((times) => quantile(times, share)));
    const [ours, bare] = [of(many.broker), of(many.floor)];
    say({
      figure: `100 sockets appear at once → Notify, ${word}`,
      unit: 'ms',
      broker: ours,
      beside: [{ what: 'bare grpc-js on fs.watch', value: bare }],
      ...(share === 1 ? { limit: atMostTimes(ours, bare, 2) } : {}),
    });
  }
  await floor.end();
  await crowd.end();
  await broker.close();
}

await main();
