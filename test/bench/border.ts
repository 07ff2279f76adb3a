// The cost of the border: calls a second, latency and CPU of a real grpc-js client and server, with and without it, in
// turns within one run. The client is a process of its own, so that the CPU time measured is the server's.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { GuardSettings } from '../../src/model/settings.js';
import { quantile, say, spread, type Row } from '../support/bench/rows.js';
import { EchoClient } from '../support/http2/echo-client.js';
import { EchoServer } from '../support/http2/echo-server.js';

/** Rounds that count, after one that does not. */
const ROUNDS = 5;
const BATCHED_CALLS = 10_000;
const IN_FLIGHT = 32;
const CALLS_IN_TURN = 2_000;
/** The last sends a raw path as authority, so that every call of it is written anew. */
const MODES = ['no border', 'border', 'border that repairs'] as const;
type Mode = (typeof MODES)[number];

interface Job {
  readonly path: string;
  readonly calls: number;
  readonly inFlight: number;
  readonly authority: string | undefined;
}

interface Result {
  readonly seconds: number;
  /** Microseconds of each call. */
  readonly each: readonly number[];
}

/** One round of one mode. */
interface Round {
  readonly batchedPerSecond: number;
  readonly batchedCpu: number;
  readonly inTurnP50: number;
  readonly inTurnP99: number;
  readonly inTurnCpu: number;
}

/** Budgets out of the way: only the counting is measured. */
const guard: Partial<GuardSettings> = { frames: 1e9, pings: 1e9, windowUpdates: 1e9 };

async function runJob({ path, calls, inFlight, authority }: Job): Promise<Result> {
  const client = new EchoClient(path, authority);
  await client.unary(Buffer.from('warm'));
  const each: number[] = [];
  let left = calls;
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      await client.unary(Buffer.from('about as long as a registration is'));
      each.push((performance.now() - began) * 1000);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: inFlight }, caller));
  const seconds = (performance.now() - began) / 1000;
  client.close();
  return { seconds, each };
}

/** Lets the client work, and adds what that cost the server in microseconds of CPU a call. */
async function ask(child: ChildProcess, job: Job): Promise<Result & { readonly cpu: number }> {
  const before = process.cpuUsage();
  child.send(job);
  const [result] = (await once(child, 'message')) as [Result];
  const { user, system } = process.cpuUsage(before);
  return { ...result, cpu: (user + system) / job.calls };
}

async function measure(child: ChildProcess, mode: Mode): Promise<Round> {
  const server = new EchoServer({ isGuarded: mode !== 'no border', guard });
  await server.listen();
  const authority = mode === 'border that repairs' ? '/var/lib/kubelet/device-plugins/kubelet.sock' : undefined;
  const to = { path: server.path, authority };
  const batched = await ask(child, { ...to, calls: BATCHED_CALLS, inFlight: IN_FLIGHT });
  const inTurn = await ask(child, { ...to, calls: CALLS_IN_TURN, inFlight: 1 });
  await server.close();
  return {
    batchedPerSecond: BATCHED_CALLS / batched.seconds,
    batchedCpu: batched.cpu,
    inTurnP50: quantile(inTurn.each, 0.5),
    inTurnP99: quantile(inTurn.each, 0.99),
    inTurnCpu: inTurn.cpu,
  };
}

async function main(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['client']);
  const rounds: { readonly mode: Mode; readonly round: Round }[] = [];
  for (const mode of MODES) await measure(child, mode);
  for (let turn = 0; turn < ROUNDS; turn++) {
    const order = turn % 2 === 0 ? MODES : MODES.toReversed();
    for (const mode of order) rounds.push({ mode, round: await measure(child, mode) });
  }
  child.disconnect();
  const row = (figure: string, unit: Row['unit'], name: keyof Round): void => {
    const of = (wanted: Mode) => spread(rounds.filter(({ mode }) => mode === wanted).map(({ round }) => round[name]));
    const beside = (['no border', 'border that repairs'] as const).map((what) => ({ what, value: of(what) }));
    say({ figure, unit, broker: of('border'), beside });
  };
  row(`calls through the border, ${IN_FLIGHT} in flight`, 'calls/s', 'batchedPerSecond');
  row(`CPU of the server a call, ${IN_FLIGHT} in flight`, 'us', 'batchedCpu');
  row('latency through the border, one call at a time, p50', 'us', 'inTurnP50');
  row('latency through the border, one call at a time, p99', 'us', 'inTurnP99');
  row('CPU of the server a call, one call at a time', 'us', 'inTurnCpu');
}

if (process.argv[2] === 'client') {
  process.on('message', (job: Job) => {
    void runJob(job).then((result) => process.send?.(result));
  });
} else {
  await main();
}
