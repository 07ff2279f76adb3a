// A broker with five problems at once: a plugin kept out, one lost, one refused for its name, a policy that is not in
// force, and a disk that is full.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BrokerProcess } from './broker-process.js';
import { eventually } from './eventually.js';
import { FakePlugin, healthy } from './fake-plugin.js';
import { freePort } from './free-port.js';
import { cannotPrepare, inNamespaces, inNamespacesOf } from './namespaces.js';
import { RegisterCaller } from './register-caller.js';
import { tempDir } from './temp-dir.js';

const FLAGS = ['--user', '--map-root-user', '--mount'];
const DISK = 'tmpfs -o size=256k tmpfs';

/** Why it cannot be had here; undefined: it can. */
export function cannotBeTroubled(): string | undefined {
  return cannotPrepare(FLAGS, `mount -t ${DISK} /mnt`);
}

/** A broker with its page, and the plugins that trouble it. */
export class TroubledBroker {
  readonly broker: BrokerProcess;
  readonly url: string;
  readonly #plugins: FakePlugin[] = [];

  private constructor(broker: BrokerProcess, url: string) {
    this.broker = broker;
    this.url = url;
  }

  /** Starts it; all five are there when this resolves. */
  static async start(): Promise<TroubledBroker> {
    const root = tempDir();
    const port = await freePort();
    const within = inNamespaces(FLAGS, `mkdir -p ${root}/state && mount -t ${DISK} ${root}/state`);
    const config = {
      http: { listen: `127.0.0.1:${String(port)}` },
      grace: { device: '10m' },
      flood: {
        register: { burst: 2, interval: '10s', onExceed: 'reject' },
        penalty: { strikes: 3, quarantine: '10m' },
      },
    };
    const broker = new BrokerProcess(root, config, { within });
    const troubled = new TroubledBroker(broker, `http://127.0.0.1:${String(port)}/`);
    await broker.start();
    await troubled.#plugin('well', 'a', 'b', 'c');
    const lost = await troubled.#plugin('lost', 'x', 'y');
    await lost.stop();
    await troubled.#loud();
    const named = new RegisterCaller(broker.kubeletSocket, 'no slash here', 'well.sock');
    // More often than it may: the fault of its name is to be read all the same.
    for (let call = 0; call < 4; call += 1) await named.call();
    named.close();
    inNamespacesOf(
      broker.pid ?? 0,
      ['--user', '--mount', '--preserve-credentials'],
      `cat /dev/zero > ${root}/state/fill 2>/dev/null || true`,
    );
    await troubled.#plugin('late', 'z');
    const file = path.join(root, 'config.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"burst":2', '"burst":-2'));
    await eventually('all five are known', async () => {
      const { broker: is, plugins, policy, checkpoint } = await broker.status();
      const states = plugins.filter(({ primary }) => primary).map(({ state }) => state);
      return (
        is.phase === 'degraded' && policy.error !== '' && checkpoint.state === 'not-writable' && states.includes('held')
      );
    });
    return troubled;
  }

  async close(): Promise<void> {
    await this.broker.close();
    for (const plugin of this.#plugins) await plugin.stop();
  }

  async #plugin(name: string, ...devices: string[]): Promise<FakePlugin> {
    const socket = path.join(this.broker.devicePlugins, `${name}.sock`);
    const plugin = await FakePlugin.start({ socket, resource: `example.com/${name}`, devices: healthy(...devices) });
    this.#plugins.push(plugin);
    await plugin.register(this.broker.kubeletSocket);
    await eventually(
      `${name} is there`,
      async () => (await this.broker.allocatable(plugin.resource)) === devices.length,
    );
    return plugin;
  }

  /** Registers until it is kept out. */
  async #loud(): Promise<void> {
    await this.#plugin('loud', 'l');
    const caller = new RegisterCaller(this.broker.kubeletSocket, 'example.com/loud', 'loud.sock');
    await eventually('it is kept out', async () => {
      await caller.call();
      const limits = await this.broker.admin.limits('example.com/loud');
      return limits.some(({ quarantinedUntil }) => quarantinedUntil !== '');
    });
    caller.close();
  }
}
