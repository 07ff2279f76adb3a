// The gap of a plain stop and start, and of --takeover, as a poller of `resources` sees it.
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startCrowd } from '../support/bench/crowd.js';
import { now, say, spread, type Spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { tempDir } from '../support/temp-dir.js';

const RUNS = 5;
const PLUGINS = 100;
const DEVICES = 2;

/** The sightings of a poller while something happened. */
interface Watched {
  /** The longest time between two answers, in milliseconds. */
  readonly gap: number;
  readonly failed: number;
  readonly least: number;
}

const crowd = startCrowd();

async function watched(broker: BrokerProcess, happening: () => Promise<void>): Promise<Watched> {
  const state = { isOver: false, gap: 0, failed: 0, least: Infinity };
  let last = now();
  const polling = (async () => {
    while (!state.isOver) {
      try {
        let total = 0;
        for (const { allocatable } of (await broker.counts()).values()) total += allocatable;
        state.least = Math.min(state.least, total);
        state.gap = Math.max(state.gap, now() - last);
        last = now();
      } catch {
        state.failed += 1;
      }
      await pause(2);
    }
  })();
  await happening();
  await pause(100);
  state.isOver = true;
  await polling;
  return state;
}

async function main(): Promise<void> {
  const broker = new BrokerProcess(tempDir());
  await broker.start();
  const plugins = { dir: broker.devicePlugins, name: 't', count: PLUGINS };
  await crowd.ask('serve', plugins);
  await crowd.ask('registerAtOnce', { kubeletSocket: broker.kubeletSocket, crowd: plugins });
  await crowd.ask('hangUp', path.join(broker.devicePlugins, 'kubelet.sock'));
  for (let nth = 0; nth < PLUGINS; nth++) await broker.onDisk(`example.com/t-${String(nth)}`);
  const steady: Watched[] = [];
  const stopped: Watched[] = [];
  const takenOver: Watched[] = [];
  for (let run = 0; run < RUNS; run++) {
    steady.push(await watched(broker, () => pause(500)));
    stopped.push(
      await watched(broker, async () => {
        await broker.end('SIGTERM');
        await broker.start({ settled: false });
      }),
    );
    takenOver.push(await watched(broker, () => broker.start({ args: ['--takeover'], settled: false })));
    await pause(300);
  }
  const of = (seen: readonly Watched[], what: keyof Watched): Spread => spread(seen.map((one) => one[what]));
  const all = PLUGINS * DEVICES;
  for (const [words, seen] of [
    ['stop and start', stopped],
    ['--takeover', takenOver],
  ] as const) {
    const beside = [{ what: 'nothing happens', value: of(steady, 'gap') }];
    say({
      figure: `${words}, 100 plugins: longest time between two answers`,
      unit: 'ms',
      broker: of(seen, 'gap'),
      beside,
    });
    const failed = of(seen, 'failed');
    const least = of(seen, 'least');
    const isTakeover = seen === takenOver;
    say({
      figure: `${words}: calls that failed`,
      unit: 'calls',
      broker: failed,
      beside: [],
      ...(isTakeover ? { limit: { text: '= 0', isMet: failed.max === 0 } } : {}),
    });
    say({
      figure: `${words}: least allocatable devices seen, of ${String(all)}`,
      unit: 'resources',
      broker: least,
      beside: [],
      limit: { text: `= ${String(all)}`, isMet: least.min === all },
    });
  }
  await broker.close();
  await crowd.end();
}

await main();
