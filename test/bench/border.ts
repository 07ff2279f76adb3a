// What the border costs: calls per second and latency of a real grpc-js client and server, with and without it, in turns
// within one run. Prints JSON. The client is a process of its own, so that the CPU time measured is the server's.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { GuardSettings } from '../../src/model/settings.js';
import { EchoClient } from '../support/http2/echo-client.js';
import { EchoServer } from '../support/http2/echo-server.js';

const PASSES = Number(process.env['PB_BENCH_PASSES'] ?? 5);
const CALLS = Number(process.env['PB_BENCH_CALLS'] ?? 10_000);
const IN_FLIGHT = 32;
const MODES = ['bare', 'border', 'border-repairing'] as const;
type Mode = (typeof MODES)[number];

interface Job {
  readonly path: string;
  readonly calls: number;
  readonly inFlight: number;
  readonly authority: string | undefined;
}

/** Seconds the calls took together, and microseconds of each. */
interface Result {
  readonly seconds: number;
  readonly micros: number[];
}

/** Budgets out of the way: what is measured is counting, not being cut off. */
const guard: Partial<GuardSettings> = { frames: 1e9, pings: 1e9, windowUpdates: 1e9 };

async function runJob({ path, calls, inFlight, authority }: Job): Promise<Result> {
  const client = new EchoClient(path, authority);
  await client.unary(Buffer.from('warm'));
  const micros: number[] = [];
  let left = calls;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      await client.unary(Buffer.from('a registration is about so long as this'));
      micros.push((performance.now() - began) * 1000);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  const seconds = (performance.now() - began) / 1000;
  client.close();
  return { seconds, micros };
}

async function ask(child: ChildProcess, job: Job): Promise<Result> {
  child.send(job);
  const [result] = (await once(child, 'message')) as [Result];
  return result;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const rounded = (value: number): number => Math.round(value * 10) / 10;

/** One mode once: batched and sequential. */
async function measure(child: ChildProcess, mode: Mode): Promise<Record<string, number>> {
  const server = new EchoServer({ isGuarded: mode !== 'bare', guard });
  await server.listen();
  // Only the border lets a raw path in; the bare server is measured with what it takes.
  const authority = mode === 'border-repairing' ? '/var/lib/kubelet/device-plugins/kubelet.sock' : undefined;
  const cpu = process.cpuUsage();
  const batched = await ask(child, { path: server.path, calls: CALLS, inFlight: IN_FLIGHT, authority });
  const used = process.cpuUsage(cpu);
  const sequential = await ask(child, { path: server.path, calls: CALLS / 5, inFlight: 1, authority });
  await server.close();
  return {
    callsPerSecond: CALLS / batched.seconds,
    serverCpuMicrosPerCall: (used.user + used.system) / CALLS,
    sequentialCallsPerSecond: CALLS / 5 / sequential.seconds,
    sequentialP50Micros: median(sequential.micros),
    sequentialP99Micros: sequential.micros.sort((a, b) => a - b)[Math.floor(sequential.micros.length * 0.99)] ?? 0,
  };
}

async function main(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['client']);
  const seen = new Map<Mode, Record<string, number>[]>(MODES.map((mode) => [mode, []]));
  for (const mode of MODES) await measure(child, mode); // warm up
  for (let pass = 0; pass < PASSES; pass++) {
    const order = pass % 2 === 0 ? MODES : [...MODES].reverse();
    for (const mode of order) seen.get(mode)?.push(await measure(child, mode));
  }
  child.disconnect();
  const modes = MODES.map((mode) => {
    const passes = seen.get(mode) ?? [];
    const names = Object.keys(passes[0] ?? {});
    return [
      mode,
      Object.fromEntries(names.map((name) => [name, rounded(median(passes.map((p) => p[name] ?? 0)))])),
    ] as const;
  });
  const [bare, border] = [Object.fromEntries(modes)['bare'], Object.fromEntries(modes)['border']];
  const ratio = (name: string): number => Math.round((100 * (border?.[name] ?? 0)) / (bare?.[name] ?? 1)) / 100;
  process.stdout.write(
    `${JSON.stringify({
      bench: 'border',
      node: process.version,
      passes: PASSES,
      calls: CALLS,
      inFlight: IN_FLIGHT,
      median: Object.fromEntries(modes),
      borderOverBare: {
        callsPerSecond: ratio('callsPerSecond'),
        serverCpuMicrosPerCall: ratio('serverCpuMicrosPerCall'),
        sequentialP50Micros: ratio('sequentialP50Micros'),
      },
    })}\n`,
  );
}

if (process.argv[2] === 'client') {
  process.on('message', (job: Job) => {
    void runJob(job).then((result) => process.send?.(result));
  });
} else {
  await main();
}
