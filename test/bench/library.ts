// The wait of a program that starts a broker, beside the bare daemon on an empty root.
import path from 'node:path';
import { startBroker } from '../../src/library/start-broker.js';
import { accepts } from '../support/bench/admin-poll.js';
import { now, say, spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { tempDir } from '../support/temp-dir.js';

const TIMES = 10;
const LIMIT = 1.5;

async function bareOnce(): Promise<number> {
  const broker = new BrokerProcess(tempDir());
  const began = now();
  await Promise.all([
    broker.start({ settled: false }),
    accepts(path.join(broker.root, 'broker.sock'), new AbortController().signal),
  ]);
  const took = now() - began;
  await broker.end('SIGTERM');
  await broker.close();
  return took;
}

async function libraryOnce(): Promise<number> {
  const began = now();
  const broker = await startBroker();
  const took = now() - began;
  await broker.stop();
  return took;
}

const bare: number[] = [];
const library: number[] = [];
for (let nth = 0; nth < TIMES; nth++) {
  bare.push(await bareOnce());
  library.push(await libraryOnce());
}
const [ours, floor] = [spread(library), spread(bare)];
say({
  figure: 'startBroker() → plugins can come in',
  unit: 'ms',
  broker: ours,
  beside: [{ what: 'bare serve → it answers', value: floor }],
  limit: { text: `<= ${String(LIMIT)} x bare serve`, isMet: ours.median <= LIMIT * floor.median },
});
