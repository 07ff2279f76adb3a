import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { BrokerProcess } from './broker-process.js';
import { eventually } from './eventually.js';
import { KubeletProcess } from './kubelet-process.js';
import { tempDir } from './temp-dir.js';
import { RunningSim } from './running-sim.js';

/** The resource that plugins of this world have unless told otherwise. */
export const RESOURCE = 'example.com/sim';

/** A kubelet, a broker in front of it, and plugins behind the broker: processes of their own but for the plugins. */
export class FrontWorld {
  readonly kubelet: KubeletProcess;
  readonly broker: BrokerProcess;
  readonly #plugins: RunningSim[] = [];

  /**
   * @param config settings of the broker besides `front.enabled` and `front.kubeletDir`
   * @param upstream the broker hands the kubelet's PodResources on
   */
  constructor({
    front = {},
    upstream = false,
    ...config
  }: { readonly front?: object; readonly upstream?: boolean } & Record<string, unknown> = {}) {
    const root = tempDir();
    this.kubelet = new KubeletProcess(path.join(root, 'k'));
    this.broker = new BrokerProcess(path.join(root, 'b'), {
      front: { enabled: true, kubeletDir: this.kubelet.root, ...front },
      // As root it would leave files of leases in the machine's own directory.
      cdi: { dir: 'off' },
      ...(upstream ? { podResources: { upstream: path.join(this.kubelet.root, 'pod-resources/kubelet.sock') } } : {}),
      ...config,
    });
    mkdirSync(this.broker.devicePlugins, { recursive: true });
  }

  /** A plugin that registers with the broker. */
  plugin(given: ConstructorParameters<typeof RunningSim>[1] = {}): RunningSim {
    const plugin = new RunningSim(this.broker.devicePlugins, { registry: this.broker.registry, ...given });
    this.#plugins.push(plugin);
    return plugin;
  }

  /** A plugin that registers with the kubelet itself. */
  pluginPastUs(given: ConstructorParameters<typeof RunningSim>[1] = {}): RunningSim {
    const plugin = new RunningSim(this.kubelet.devicePlugins, { registry: this.kubelet.registry, ...given });
    this.#plugins.push(plugin);
    return plugin;
  }

  /** Kubelet, broker and one plugin, and the kubelet has its list. */
  async start(given: ConstructorParameters<typeof RunningSim>[1] = {}, ...kubeletArgs: string[]): Promise<RunningSim> {
    await this.kubelet.start(...kubeletArgs);
    await this.broker.start();
    const plugin = this.plugin(given);
    await this.listed(given.devices ?? 2, given.resource);
    return plugin;
  }

  /** Waits until the kubelet's newest list of a resource has so many healthy devices. */
  async listed(healthy: number, resource = RESOURCE): Promise<void> {
    await eventually(`${String(healthy)} healthy devices of ${resource}`, () => {
      if (this.kubelet.listed(resource)?.healthy === healthy) return true;
      throw new Error(`${this.kubelet.story()}\n${this.broker.log.slice(-3000)}`);
    });
  }

  /**
   * Whether the kubelet was told, by the Registers after the first so many, that it is to call PreStartContainer: each answer once.
   */
  gates(after = 0): Set<unknown> {
    const registers = this.kubelet.of('registered', RESOURCE).filter(({ door }) => door === 'register');
    return new Set(registers.slice(after).map((line) => line['preStartRequired']));
  }

  /** A pod that asks for devices, up and running. */
  async pod(name: string, count = 1, resource = RESOURCE): Promise<void> {
    this.kubelet.create(name, { [resource]: count });
    await this.kubelet.saw('container-started', name);
  }

  async close(): Promise<void> {
    for (const plugin of this.#plugins) await plugin.stop();
    await this.kubelet.end('SIGKILL');
    await this.broker.close();
  }
}

/** Makes worlds that end with the suite that asked for this. */
export function frontWorlds(): (config?: ConstructorParameters<typeof FrontWorld>[0]) => FrontWorld {
  const worlds: FrontWorld[] = [];
  after(async () => {
    for (const world of worlds) await world.close();
  });
  return (config) => {
    const world = new FrontWorld(config);
    worlds.push(world);
    return world;
  };
}
