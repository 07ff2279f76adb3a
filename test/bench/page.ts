// The status page: its cost for the daemon while somebody looks and while nobody does, how soon a browser can be used with
// 1,024 plugins, and how long a whole picture keeps another plugin's Register waiting.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { startCrowd } from '../support/bench/crowd.js';
import { cpuMs, residentMiB } from '../support/bench/process-cost.js';
import { atMost, now, quantile, say, spread } from '../support/bench/rows.js';
import { BrokerProcess } from '../support/broker-process.js';
import { browserOrReason } from '../support/browser.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { RegisterCaller } from '../support/register-caller.js';
import { tempDir } from '../support/temp-dir.js';
import { freePort } from '../support/free-port.js';

const RUNS = 3;
const MANY = 1024;
const READERS = 8;
/** How long a load is measured. */
const SPELL_MS = 8000;
/** Register calls in each measurement of their time; sides take turns, because other work of a machine comes in bursts. */
const CALLS = 75;
const TURNS = 8;
/** Register calls that are made at the same moment as a picture is. */
const MEETINGS = 15;
/** A picture is made anew for a request after this. */
const FRESH_MS = 1000;
const SHOWN_MS = 1500;
const DELAY_MS = 5;

const crowd = startCrowd();
const port = await freePort();
const url = `http://127.0.0.1:${String(port)}/`;
const broker = new BrokerProcess(tempDir(), {
  http: { listen: `127.0.0.1:${String(port)}` },
  flood: { mode: 'observe' },
  admission: { maxPlugins: 2 * MANY },
});
await broker.start();
const few = { dir: broker.devicePlugins, name: 'few', count: 100 };
const many = { dir: broker.devicePlugins, name: 'many', count: MANY - few.count - 1 };

async function come(plugins: typeof few): Promise<void> {
  await crowd.ask('serve', plugins);
  await crowd.ask('registerAtOnce', { kubeletSocket: broker.kubeletSocket, crowd: plugins });
  await crowd.ask('watched', plugins);
}

await come(few);
const plugin = await FakePlugin.start({ socket: `${broker.devicePlugins}/one.sock`, resource: 'example.com/one' });
await plugin.register(broker.kubeletSocket);

/** Percent of a core that the daemon has, with one change a second. */
async function load(): Promise<number> {
  const before = cpuMs(broker.pid ?? 0);
  const began = now();
  for (let second = 0; second * 1000 < SPELL_MS; second += 1) {
    plugin.setDevices(healthy(...Array.from({ length: 1 + (second % 4) }, (_, nth) => `d${String(nth)}`)));
    await pause(1000);
  }
  return ((cpuMs(broker.pid ?? 0) - before) / (now() - began)) * 100;
}

/** Percent of a core that the daemon has while nothing happens. */
async function idle(): Promise<number> {
  const before = cpuMs(broker.pid ?? 0);
  const began = now();
  await pause(SPELL_MS);
  return ((cpuMs(broker.pid ?? 0) - before) / (now() - began)) * 100;
}

/** Opens streams that are read; the returned function ends them. Each had its first picture. */
async function readers(count: number): Promise<() => void> {
  const halt = new AbortController();
  for (let nth = 0; nth < count; nth += 1) {
    const answer = await fetch(`${url}api/v1/stream`, { signal: halt.signal });
    const stream = answer.body?.getReader();
    await stream?.read();
    const drain = async (): Promise<void> => {
      while (stream !== undefined && !(await stream.read()).done);
    };
    drain().catch(() => undefined);
  }
  return () => halt.abort();
}

const [alone, watched, nobody, memory, memoryAfter] = [[], [], [], [], []] as [
  number[],
  number[],
  number[],
  number[],
  number[],
];
for (let run = 0; run < RUNS; run += 1) {
  nobody.push(await idle());
  memory.push(residentMiB(broker.pid ?? 0));
  alone.push(await load());
  const leave = await readers(READERS);
  await pause(1000);
  watched.push(await load());
  leave();
  await pause(1000);
  memoryAfter.push(residentMiB(broker.pid ?? 0));
}
const beside = [{ what: 'nobody looks', value: spread(alone) }];
const costs = spread(watched.map((value, nth) => Math.max(0, value - (alone[nth] ?? 0))));
say({
  figure: '100 plugins, 8 readers, one change a second: daemon, beyond the change itself',
  unit: '% of a core',
  broker: costs,
  beside,
  limit: atMost(costs, 2),
});
say({
  figure: '100 plugins, nobody looks, nothing happens: daemon',
  unit: '% of a core',
  broker: spread(nobody),
  beside: [],
});
say({
  figure: '100 plugins, after eight readers have left: resident',
  unit: 'MB',
  broker: spread(memoryAfter),
  beside: [{ what: 'before they came', value: spread(memory) }],
});

await come(many);
await eventually('all are there', async () => (await broker.plugins()).length >= MANY);

/** A process that gives a text in gzip, packed once, to every request. */
async function bareServer(text: string): Promise<{ readonly url: string; end(): void }> {
  const file = path.join(tempDir(), 'text.gz');
  writeFileSync(file, gzipSync(text));
  const program = `
    const body = require('node:fs').readFileSync(${JSON.stringify(file)});
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': body.length };
    const server = require('node:http').createServer((request, response) => response.writeHead(200, headers).end(body));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return { url: `http://127.0.0.1:${said.toString().trim()}/`, end: () => child.kill() };
}

/** Milliseconds of each of many Register calls of one plugin. */
async function registers(caller: RegisterCaller): Promise<number[]> {
  const times: number[] = [];
  for (let nth = 0; nth < CALLS; nth += 1) {
    times.push(await registered(caller));
    await pause(5);
  }
  return times;
}

async function registered(caller: RegisterCaller): Promise<number> {
  const began = now();
  await caller.call();
  return now() - began;
}

/** The same while another process reads an address ten times a second. */
async function besideReader(caller: RegisterCaller, address: string): Promise<number[]> {
  await crowd.ask('look', { url: address, everyMs: 100 });
  const times = await registers(caller);
  await crowd.ask('lookAway');
  return times;
}

/** Milliseconds of a Register call that is made while another process asks an address once. */
async function meeting(caller: RegisterCaller, address: string): Promise<number> {
  const looked = crowd.ask('look', { url: address, everyMs: FRESH_MS });
  // The making of the picture has begun when the call comes.
  await pause(3);
  const took = await registered(caller);
  await looked;
  // Twice this is longer than a picture is given again.
  await pause(FRESH_MS / 2 + 20);
  await crowd.ask('lookAway');
  return took;
}

const p99 = (times: readonly number[]): number => quantile([...times], 0.99);
const caller = new RegisterCaller(broker.kubeletSocket, 'example.com/one', 'one.sock');
await caller.call();
// The same bytes from a process that has nothing else to do: the cost of reading them is no delay of the broker's.
const pictures = `${url}api/v1/status`;
const same = await bareServer(await (await fetch(pictures)).text());
const [beside99, calm99, bare99, busy99] = [[], [], [], []] as [number[], number[], number[], number[]];
// All runs together: nine in ten of a few is the second longest, which is the machine's.
const [met, metBare] = [[], []] as [number[], number[]];
for (let run = 0; run < RUNS; run += 1) {
  const [calm, bare, busy] = [[], [], []] as [number[], number[], number[]];
  for (let turn = 0; turn < TURNS; turn += 1) {
    calm.push(...(await registers(caller)));
    bare.push(...(await besideReader(caller, same.url)));
    busy.push(...(await besideReader(caller, pictures)));
  }
  calm99.push(p99(calm));
  bare99.push(p99(bare));
  busy99.push(p99(busy));
  beside99.push(p99(busy) - p99(bare));
  for (let nth = 0; nth < MEETINGS; nth += 1) {
    metBare.push(await meeting(caller, same.url));
    met.push(await meeting(caller, pictures));
  }
}
caller.close();
same.end();
const of = (times: readonly number[], q: number): number[] => [quantile(times, q)];
const later = (q: number): number[] => [quantile(met, q) - quantile(metBare, q)];
const FIGURES = [
  ['ten whole pictures a second: Register of another plugin, p99 later', 'p99', beside99, busy99, bare99],
  ['Register called while a whole picture is made, p50 later', 'p50', later(0.5), of(met, 0.5), of(metBare, 0.5)],
  ['Register called while a whole picture is made, p90 later', 'p90', later(0.9), of(met, 0.9), of(metBare, 0.9)],
] as const;
for (const [figure, which, over, ours, theirs] of FIGURES) {
  say({
    figure: `1,024 plugins, ${figure} than beside a bare server`,
    unit: 'ms',
    broker: spread(over),
    beside: [
      { what: `${which} with pictures`, value: spread(ours) },
      { what: `${which} with the same pictures from a bare server`, value: spread(theirs) },
      ...(which === 'p99' ? [{ what: `${which} without`, value: spread(calm99) }] : []),
    ],
    limit: atMost(spread(over), DELAY_MS),
  });
}

const { browser } = await browserOrReason();
if (browser !== undefined) {
  const usable: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const began = now();
    await page.goto(url);
    await page.waitForSelector('#plugins tbody tr');
    await page.keyboard.press('/');
    await page.keyboard.type('few-7');
    await page.locator('#plugins tbody tr', { hasText: 'few' }).first().waitFor();
    usable.push(now() - began);
    await context.close();
  }
  const value = spread(usable);
  say({
    figure: '1,024 plugins: from the address to a filtered table in a browser',
    unit: 'ms',
    broker: value,
    beside: [],
    limit: atMost(value, SHOWN_MS),
  });
  await browser.close();
}
await plugin.stop();
await broker.close();
await crowd.ask('stop', few);
await crowd.ask('stop', many);
process.exit(0);
