// The registrar: tells the kubelet about a CSI driver that cannot do it itself. A drop-in for node-driver-registrar; its checks
// and actions have the original's order, because exit codes depend on it.
import { writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { systemClock } from '../platform/time/system-clock.js';
import { asError } from '../kernel/clock.js';
import { DriverClient } from './driver-client.js';
import { Exit, failed } from './exit.js';
import { goUsage, parseGoFlags } from './go-flags.js';
import { servePages } from './http-pages.js';
import {
  idleFlags,
  loggingProblem,
  REGISTRAR_FLAGS,
  registrarOptions,
  textOf,
  type DriverAddress,
  type RegistrarOptions,
} from './options.js';
import { RegistrarLog } from './registrar-log.js';
import { Registration } from './registration.js';
import { needOwnName } from './taken-name.js';

/** The process around the registrar. */
export interface RegistrarHost {
  /** As it was called; stands in help and version. */
  readonly program: string;
  readonly version: string;
  /** The whole command line, for /debug/pprof/cmdline. */
  readonly argv: readonly string[];
  readonly pid: number;
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
  /** Calls back on SIGTERM and SIGINT. Returns how to stop listening. */
  readonly onSignal: (told: (signal: 'SIGTERM' | 'SIGINT') => void) => () => void;
}

/** Calls in flight are given this long at the end. */
const DRAIN_MS = 1000;
/** How often a socket that is to be made again is looked for. */
const LOOK_EVERY_MS = 1000;
/** The code that a shell reports for a program that SIGINT ended. */
const INTERRUPTED = 130;

/**
 * Runs the registrar until a signal, a refusal of the kubelet or a failure ends it.
 *
 * @param args without the program's name
 * @returns the exit code: 0 after SIGTERM, help and version; 2 for a command line that cannot be read; 130 after SIGINT;
 *   1 otherwise. Sockets that are to stay are still there; the caller ends the process.
 */
export async function runRegistrar(args: readonly string[], host: RegistrarHost): Promise<number> {
  const parsed = parseGoFlags(REGISTRAR_FLAGS, args);
  if (!parsed.ok) {
    const message = parsed.isHelp ? '' : `${parsed.message}\n`;
    host.writeErr(`${message}${goUsage(host.program, REGISTRAR_FLAGS)}`);
    return parsed.isHelp ? 0 : 2;
  }
  const { values, given } = parsed;
  const log = new RegistrarLog({
    format: textOf(values, 'logging-format') === 'json' ? 'json' : 'text',
    verbosity: Number(values.get('v')),
    pid: host.pid,
    write: host.writeErr,
    now: () => systemClock.wall(),
  });
  const end = (exit: Exit): number => {
    log.error(exit.message, { reason: exit.reason });
    writeTerminationLog(textOf(values, 'termination-log'), exit, log);
    return exit.code;
  };
  const wrong = loggingProblem(values);
  if (wrong !== undefined) return end(failed('BadLogging', wrong));
  if (values.get('version') === true) {
    host.writeOut(`${host.program} ${host.version}\n`);
    return 0;
  }
  log.info(0, 'Starting', { version: host.version });
  for (const idle of idleFlags(values, given)) log.warning(idle);
  const options = registrarOptions(values);
  if (typeof options === 'string') return end(failed('BadFlags', options));
  if (options.isProbe) {
    log.info(0, 'Nothing to do: the mode kubelet-registration-probe is deprecated, use a probe of /healthz');
    return 0;
  }
  try {
    return await new Registrar(options, host, log).run();
  } catch (failure) {
    return end(failure instanceof Exit ? failure : failed('Failed', asError(failure).message));
  }
}

function writeTerminationLog(file: string, { code, reason, message }: Exit, log: RegistrarLog): void {
  if (file === '') return;
  try {
    writeFileSync(file, `${JSON.stringify({ exitCode: code, reason, message })}\n`);
  } catch (failure) {
    log.warning('The termination log cannot be written', { file, error: asError(failure).message });
  }
}

class Registrar {
  readonly #options: RegistrarOptions;
  readonly #host: RegistrarHost;
  readonly #log: RegistrarLog;
  readonly #halt = new AbortController();
  readonly #registrations: Registration[] = [];
  readonly #clients: DriverClient[] = [];
  #pages: Server | undefined;

  constructor(options: RegistrarOptions, host: RegistrarHost, log: RegistrarLog) {
    this.#options = options;
    this.#host = host;
    this.#log = log;
  }

  /** @returns the exit code @throws Exit */
  async run(): Promise<number> {
    const { signal } = this.#halt;
    // Alarms of the clock and a waiting channel do not keep a process alive.
    const alive = setInterval(() => this.#look(), LOOK_EVERY_MS);
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    const offSignal = this.#host.onSignal((name) => {
      this.#halt.abort(new Exit(name === 'SIGTERM' ? 0 : INTERRUPTED, name, `ended by ${name}`));
    });
    try {
      await Promise.race([ended, this.#start(signal)]);
      return await ended;
    } catch (failure) {
      if (!(failure instanceof Exit) || failure.code === 1) throw failure;
      this.#log.info(0, failure.message);
      for (const { socket } of this.#registrations) socket.remove();
      return failure.code;
    } finally {
      clearInterval(alive);
      offSignal();
      this.#halt.abort(new Exit(0, 'Over', 'it is over'));
      this.#pages?.closeAllConnections();
      this.#pages?.close();
      for (const client of this.#clients) client.close();
      await Promise.all(this.#registrations.map((registration) => registration.close(DRAIN_MS)));
    }
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { drivers, httpEndpoint } = this.#options;
    await Promise.all(drivers.map((address) => this.#register(address, signal)));
    signal.throwIfAborted();
    if (httpEndpoint === '') {
      this.#log.info(0, 'Skipping the HTTP server: no address is given');
      return;
    }
    this.#pages = await servePages(httpEndpoint, {
      options: this.#options,
      registrations: this.#registrations,
      argv: this.#host.argv,
      log: this.#log,
    });
    this.#log.info(0, 'Serving HTTP', { address: httpEndpoint });
  }

  async #register({ csiAddress, kubeletRegistrationPath }: DriverAddress, signal: AbortSignal): Promise<void> {
    const { directory, timeoutMs, nameQueryRetryMs, exitOnDriverLoss } = this.#options;
    const client = new DriverClient(csiAddress, systemClock, this.#log);
    this.#clients.push(client);
    await client.connect(signal);
    this.#log.info(1, 'Asking the CSI driver for its name', { timeout: `${timeoutMs}ms` });
    const driver = await client.name({ timeoutMs, retryMs: nameQueryRetryMs }, signal);
    this.#log.info(2, 'CSI driver name', { driver });
    signal.throwIfAborted();
    const registration = new Registration({
      driver,
      endpoint: kubeletRegistrationPath,
      directory,
      clock: systemClock,
      log: this.#log,
      refused: (error) => this.#halt.abort(failed('Refused', `the kubelet refused CSI driver ${driver}: ${error}`)),
    });
    const needOnlyOne = (): void => {
      if (this.#registrations.some((other) => other.driver === driver))
        throw failed('DuplicateDriver', `two of the drivers call themselves ${driver}`);
    };
    needOnlyOne();
    const { path: socket } = registration.socket;
    await needOwnName({ driver, csiAddress, endpoint: kubeletRegistrationPath, socket }, systemClock);
    signal.throwIfAborted();
    needOnlyOne(); // another one may have asked meanwhile
    registration.socket.clean();
    this.#registrations.push(registration);
    await registration.socket.listen();
    if (signal.aborted) registration.socket.remove();
    signal.throwIfAborted();
    this.#log.info(0, 'Registration socket is ready', { path: registration.socket.path });
    if (exitOnDriverLoss) {
      const lost = `the connection to CSI driver ${driver} at ${csiAddress} ended`;
      client.onLost(() => this.#halt.abort(failed('DriverLost', lost)));
    }
  }

  /** Makes sockets again that somebody removed, if that is wanted. One that was replaced belongs to a successor. */
  #look(): void {
    if (!this.#options.recreateSocket) return;
    for (const { socket, driver } of this.#registrations) {
      if (socket.look() !== 'missing') continue;
      this.#log.warning('The registration socket was removed and is made again', { driver, path: socket.path });
      socket.listen().catch((failure: unknown) => this.#log.error(asError(failure).message, { driver }));
    }
  }
}
