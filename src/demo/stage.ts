// The processes of the demo: a broker of its own below a short root, and simulated plugins. Everything ends with it.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '../kernel/clock.js';
import { LONGEST_SOCKET_PATH } from '../model/root.js';
import { AdminClient } from '../platform/grpc/admin-client.js';
import { AllocatorClient } from '../platform/grpc/allocator-client.js';

/**
 * A policy so strict that it is seen at work within seconds. The simulated plugin comes back when a refusal says so, so that it is
 * refused once each interval, on a machine that is so busy that a registration takes a second, too.
 */
const CONFIG = {
  http: { listen: 'off' },
  // Nothing outside the demo's own directory is written.
  cdi: { dir: 'cdi' },
  flood: { penalty: { strikes: 2, window: '60s', quarantine: '10m' } },
  rules: [
    { match: { name: 'demo.example/flooding' }, flood: { register: { burst: 1, interval: '3s', maxDelay: '50ms' } } },
  ],
};
/** How long a process has to end by itself before it is killed. */
const LEAVE_MS = 3000;

/** Starts and ends the processes of one demo. */
export class Stage {
  readonly root: string;
  readonly admin: AdminClient;
  readonly allocator: AllocatorClient;
  readonly #program: string;
  readonly #clock: Clock;
  readonly #halt = new AbortController();
  readonly #children = new Set<ChildProcess>();
  #broker: ChildProcess | undefined;
  /** The last lines of the broker, for a demo that went wrong. */
  lastWords = '';

  /**
   * @param program the file to run for `serve` and `sim`
   * @throws Error when the temporary directory is too deep for sockets
   */
  constructor(program: string, clock: Clock) {
    this.#program = program;
    this.#clock = clock;
    this.root = mkdtempSync(path.join(tmpdir(), 'pb-'));
    const longest = path.join(this.root, 'device-plugins', 'kubelet.sock');
    if (Buffer.byteLength(longest) > LONGEST_SOCKET_PATH) {
      rmSync(this.root, { recursive: true });
      throw new Error(`${longest} is too long for a socket; set TMPDIR to a shorter directory, such as /tmp`);
    }
    writeFileSync(path.join(this.root, 'config.yaml'), JSON.stringify(CONFIG));
    this.allocator = new AllocatorClient(path.join(this.root, 'alloc.sock'), clock);
    this.admin = new AdminClient(path.join(this.root, 'broker.sock'), clock, this.#halt.signal);
  }

  /** Pid of the broker that runs now. */
  get brokerPid(): number | undefined {
    return this.#broker?.pid;
  }

  /** Starts the broker; whether it serves is seen by asking it. */
  startBroker(): void {
    const child = this.#start(['serve', '--root', this.root, '--config', path.join(this.root, 'config.yaml')]);
    child.stderr?.on('data', (chunk: Buffer) => (this.lastWords = (this.lastWords + chunk.toString()).slice(-4000)));
    this.#broker = child;
  }

  /** kill -9: no chance to write, to close, or to say goodbye. */
  async killBroker(): Promise<void> {
    const child = this.#broker;
    if (child?.pid === undefined) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Starts a simulated device plugin with options as they are typed; the returned function makes it leave. */
  startPlugin(options: string): () => Promise<void> {
    const child = this.#start(['sim', 'device', '--root', this.root, ...options.split(' ')]);
    child.stderr?.resume();
    return () => this.#end(child);
  }

  /** Starts a command with devices; the returned function ends it, and with it its lease. */
  startOwner(device: string): () => Promise<void> {
    const child = this.#start(['run', '--root', this.root, '--device', device, '--', 'sleep', '600']);
    child.stderr?.resume();
    return () => this.#end(child);
  }

  /** Ends all work of the demo with it. */
  get signal(): AbortSignal {
    return this.#halt.signal;
  }

  /** Ends every process and removes every file. */
  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.#end(child)));
    this.#halt.abort();
    rmSync(this.root, { recursive: true, force: true });
  }

  #start(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [this.#program, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  async #end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const alarm = this.#clock.alarm(LEAVE_MS, () => child.kill('SIGKILL'));
    await gone;
    alarm.cancel();
  }
}
