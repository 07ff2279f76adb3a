// One life of a simulated driver: it serves until it is told to stop, ends by itself, or is refused.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { PluginServer, type Speech } from '../device-plugin/plugin-server.js';
import { SimLog, type SimFacts } from './sim-log.js';

/** How drivers may end; abrupt leaves everything behind as a killed process does. */
export const DRIVER_LEAVES = ['clean', 'abrupt'] as const;

/** The options about every driver's life; durations are milliseconds. */
export interface DriverLifeOptions {
  /** Serve the service this long after the start; its registration socket is there at once. */
  readonly serveDelay: number;
  /** Lose the service socket and its connections after this, as a crashed process does, and make them anew. */
  readonly crashEvery?: number;
  readonly onNotifyFalse: 'retry' | 'exit';
  readonly leave: (typeof DRIVER_LEAVES)[number];
  readonly exitAfter?: number;
  readonly exitCode: number;
  readonly speak: Speech;
}

/** One socket to serve on. */
export interface DriverSocket {
  readonly path: string;
  readonly attach: (server: Server) => void;
}

/** The parts of a driver. */
export interface Driver {
  readonly service: DriverSocket;
  /** Its own registration socket, if it has one. */
  readonly registration: DriverSocket | undefined;
}

/** A simulated driver's ports to its process. */
export interface DriverProcess {
  /** Writes one line with its end. */
  readonly write: (line: string) => void;
  /** Ends the process on the spot: sockets stay where they are. */
  readonly die: (code: number) => void;
}

/** The process that runs this. */
export function driverProcess(): DriverProcess {
  return { write: (line) => void process.stdout.write(line), die: (code) => process.exit(code) };
}

/** Speaks for the driver, and ends it. */
export interface DriverVoice {
  readonly say: (event: string, facts?: SimFacts) => void;
  /** NotifyRegistrationStatus said no. */
  readonly refused: () => void;
}

/** How long a refused driver lives on, so that its answer leaves. */
const LAST_ANSWER_MS = 50;

/** Lives until the signal aborts or it ends by itself. Logs its actions and observations as JSON lines. @returns the exit code */
export async function liveAsDriver(
  make: (voice: DriverVoice) => Driver,
  options: DriverLifeOptions,
  signal: AbortSignal,
  around: DriverProcess,
): Promise<number> {
  const log = new SimLog(around.write);
  const timers: NodeJS.Timeout[] = [setInterval(() => undefined, 60_000)];
  const servers: PluginServer[] = [];
  let end: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (end = resolve));
  const driver = make({
    say: (event, facts) => log.say(event, facts),
    refused: () => {
      if (options.onNotifyFalse === 'exit') timers.push(setTimeout(() => end(1), LAST_ANSWER_MS));
    },
  });
  const onAbort = (): void => end(0);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  if (options.exitAfter !== undefined) timers.push(setTimeout(() => end(options.exitCode), options.exitAfter));
  const serve = async ({ path: socket, attach }: DriverSocket, speak: Speech): Promise<PluginServer> => {
    mkdirSync(path.dirname(socket), { recursive: true });
    const server = await PluginServer.listen(socket, attach, speak);
    servers.push(server);
    log.say('serving', { socket });
    return server;
  };
  const serveService = async (): Promise<void> => {
    const before = servers.find((server) => server.path === driver.service.path);
    if (before !== undefined) {
      servers.splice(servers.indexOf(before), 1);
      await before.close({ keepFile: true });
      log.say('service-lost', { socket: before.path });
    }
    await serve(driver.service, options.speak);
  };
  const attempt = (work: () => Promise<unknown>): void => {
    work().catch((failure: unknown) => {
      log.say('failed', { error: failure instanceof Error ? failure.message : String(failure) });
      end(1);
    });
  };
  attempt(async () => {
    if (options.serveDelay === 0) await serveService();
    else timers.push(setTimeout(() => attempt(serveService), options.serveDelay));
    if (driver.registration !== undefined) await serve(driver.registration, 'grpc');
    if (options.crashEvery !== undefined) timers.push(setInterval(() => attempt(serveService), options.crashEvery));
  });
  const code = await ended;
  signal.removeEventListener('abort', onAbort);
  for (const timer of timers) clearInterval(timer);
  log.say('leaving', { code, style: options.leave });
  log.close();
  if (options.leave === 'abrupt') around.die(code);
  await Promise.all(servers.map((server) => server.close()));
  return code;
}
