import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';
import { Child, type Ending } from '../../support/child.js';

/** One resource in `resources -o json`, as far as these tests look. */
export interface ResourceJson {
  readonly name: string;
  readonly plugin: string;
  readonly state: string;
  readonly capacity: number;
  readonly allocatable: number;
  readonly devices: readonly { readonly id: string; readonly health: string; readonly numaNodes: readonly number[] }[];
}

/** The daemon as it is shipped, on a root of its own, seen through its own command line. */
export class Broker {
  readonly root: string;
  readonly #child: Child;

  private constructor(root: string, child: Child) {
    this.root = root;
    this.#child = child;
  }

  /**
   * Starts it and waits until plugins can come in.
   *
   * @param config YAML put into its configuration file, besides an HTTP address that is off
   * @param root that of a broker before it, for a restart
   * @param flags of `serve`, such as `--takeover`
   */
  static async start(config = '', root = tempDir(), flags: readonly string[] = []): Promise<Broker> {
    const file = path.join(root, 'config.yaml');
    writeFileSync(file, `http:\n  listen: 'off'\n${config}`);
    mkdirSync(path.join(root, 'device-plugins'), { recursive: true });
    mkdirSync(path.join(root, 'plugins_registry'), { recursive: true });
    const args = [distFile(), 'serve', '--root', root, '--config', file, ...flags];
    const broker = new Broker(root, new Child({ command: process.execPath, args: [], env: {} }, args));
    // Sockets of a broker before it may still lie there: only an answer counts.
    await eventually('the broker answers', async () => Boolean(await broker.ask('status')), { everyMs: 50 }).catch(
      async (error: unknown) => {
        await broker.stop();
        throw new Error(broker.story, { cause: error });
      },
    );
    return broker;
  }

  get devicePlugins(): string {
    return path.join(this.root, 'device-plugins');
  }

  get registry(): string {
    return path.join(this.root, 'plugins_registry');
  }

  get kubeletSocket(): string {
    return path.join(this.devicePlugins, 'kubelet.sock');
  }

  get story(): string {
    return this.#child.story;
  }

  /** The answer of a command with `-o json`. */
  async ask(...command: readonly string[]): Promise<unknown> {
    const args = [distFile(), ...command, '-o', 'json', '--root', this.root];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
    return JSON.parse(stdout) as unknown;
  }

  /** Waits until a resource is as `claim` wants it; gives it. The failure tells what the daemon said meanwhile. */
  async resource(name: string, what: string, claim: (resource: ResourceJson) => boolean): Promise<ResourceJson> {
    let last: unknown;
    return eventually(
      `${name}: ${what}`,
      async () => {
        last = await this.ask('resources');
        return (last as readonly ResourceJson[]).find((resource) => resource.name === name && claim(resource));
      },
      { everyMs: 50 },
    ).catch((error: unknown) => {
      throw new Error(`${JSON.stringify(last)}\n${this.story}`, { cause: error });
    });
  }

  /** Waits until it has ended by itself, as it does when another takes over. */
  ended(): Promise<Ending> {
    return this.#child.end();
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    this.#child.signal('SIGKILL');
    await this.#child.end();
  }

  /** Stops it as an operator does; gives the exit code or the signal. */
  stop(): Promise<Ending> {
    return this.#child.stop();
  }
}
