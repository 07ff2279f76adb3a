import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { PluginView, ResourceView, StatusView } from '../../src/model/views.js';
import { AdminClient } from '../../src/platform/grpc/admin-client.js';
import { BrokerChild } from '../../src/platform/process/broker-child.js';
import { systemClock } from '../../src/platform/time/system-clock.js';
import { distFile } from './dist.js';
import { eventually } from './eventually.js';

/** The surroundings of a daemon, where they are not those of the tests. */
interface Surroundings {
  readonly within?: readonly string[];
  readonly program?: string;
}

/** The daemon as a process of its own, below a root that outlives it. */
export class BrokerProcess {
  readonly root: string;
  readonly kubeletSocket: string;
  readonly devicePlugins: string;
  readonly registry: string;
  readonly #halt = new AbortController();
  readonly admin: AdminClient;
  readonly #config: string;
  readonly #argv: readonly string[];
  /** Its log, all lives together. */
  log = '';
  #child: BrokerChild | undefined;

  /**
   * @param config settings in JSON, which is YAML too
   * @param within a command that becomes the one that follows it, in surroundings of its own
   * @param program another copy of it than the one that was built
   */
  constructor(root: string, config: object = {}, { within = [], program = distFile() }: Surroundings = {}) {
    this.root = root;
    this.#argv = [...within, process.execPath, program];
    this.devicePlugins = path.join(root, 'device-plugins');
    this.registry = path.join(root, 'plugins_registry');
    this.kubeletSocket = path.join(this.devicePlugins, 'kubelet.sock');
    this.#config = path.join(root, 'config.yaml');
    mkdirSync(root, { recursive: true });
    this.configure(config);
    this.admin = new AdminClient(path.join(root, 'broker.sock'), systemClock, this.#halt.signal);
  }

  /** Writes another configuration, which a running broker reads by itself. */
  configure(config: object): void {
    writeFileSync(this.#config, JSON.stringify({ http: { listen: 'off' }, ...config }));
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it and waits until it answers; `settled` until the restart is over. */
  async start({ args = [], settled = true }: { args?: readonly string[]; settled?: boolean } = {}): Promise<void> {
    const child = this.#life(args);
    this.#child = child;
    await eventually('the broker answers', async () => {
      if (child.end !== undefined)
        throw new Error(`it ended with ${JSON.stringify(child.end)}: ${this.log.slice(-2000)}`);
      const { broker } = await this.admin.status(true);
      return broker.pid === child.pid && (!settled || broker.phase === 'ready' || broker.phase === 'degraded');
    });
  }

  /** Starts a process without waiting for anything. */
  spawn(args: readonly string[] = []): ChildProcess {
    return this.#life(args).process;
  }

  /** Ends it with a signal and waits. Returns its exit code, null when the signal killed it. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    child?.process.kill(signal);
    const end = await child?.ended;
    return end === undefined || end instanceof Error ? null : end.code;
  }

  status(): Promise<StatusView> {
    return this.admin.status(true);
  }

  plugins(): Promise<readonly PluginView[]> {
    return this.admin.plugins('');
  }

  /** capacity and allocatable by resource. */
  async counts(): Promise<Map<string, Pick<ResourceView, 'capacity' | 'allocatable' | 'state'>>> {
    const resources = await this.admin.resources('', true);
    return new Map(resources.map(({ name, capacity, allocatable, state }) => [name, { capacity, allocatable, state }]));
  }

  async allocatable(resource: string): Promise<number | undefined> {
    return (await this.counts()).get(resource)?.allocatable;
  }

  /** Waits until the checkpoint on disk knows a plugin and its list: the broker may be a moment ahead of it. */
  async onDisk(name: string): Promise<void> {
    await eventually(`${name} is on disk with its list`, () => {
      const text = readFileSync(path.join(this.root, 'state', 'checkpoint.json'), 'utf8');
      const { plugins } = JSON.parse(text) as { plugins: { name: string; list?: object }[] };
      return plugins.some((plugin) => plugin.name === name && plugin.list !== undefined);
    });
  }

  #life(args: readonly string[]): BrokerChild {
    return new BrokerChild({
      program: this.#argv,
      args: ['--root', this.root, '--config', this.#config, ...args],
      onLog: (chunk) => (this.log += chunk.toString()),
    });
  }

  /** Kills what runs. @throws Error where it logged a bug of its own */
  async close(): Promise<void> {
    await this.end('SIGKILL');
    this.#halt.abort();
    const bug = /^.*broker\.bug.*$/m.exec(this.log)?.[0];
    if (bug !== undefined) throw new Error(`the broker found a bug in itself: ${bug}`);
  }
}
