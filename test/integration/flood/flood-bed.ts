import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import type { BrokerEvent } from '../../../src/model/event.js';
import type { LimitView, PluginView } from '../../../src/model/views.js';
import { AllocClient } from '../../support/alloc-client.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, type FakePluginOptions } from '../../support/fake-plugin.js';
import { start, type Running } from '../../support/program.js';
import { RegisterCaller } from '../../support/register-caller.js';
import { tempDir } from '../../support/temp-dir.js';

/** A running broker with its metrics, and everything that calls it. Ends with the test file. */
export class FloodBed {
  readonly broker: BrokerProcess;
  readonly #ending: (() => unknown)[] = [];

  private constructor(config: object) {
    this.broker = new BrokerProcess(tempDir(), { http: { listen: '127.0.0.1:0' }, ...config });
    after(() => this.#close());
  }

  /** @param config settings beside an HTTP address */
  static async start(config: object = {}): Promise<FloodBed> {
    const bed = new FloodBed(config);
    await bed.broker.start();
    return bed;
  }

  /** Saves other settings; they count a moment later. */
  configure(config: object | string): void {
    const text = typeof config === 'string' ? config : JSON.stringify({ http: { listen: '127.0.0.1:0' }, ...config });
    writeFileSync(path.join(this.broker.root, 'config.yaml'), text);
  }

  /** A plugin inside the test's process that serves `example.com/NAME` and has not registered yet. */
  async plugin(name: string, over: Partial<FakePluginOptions> = {}): Promise<FakePlugin> {
    const socket = path.join(this.broker.devicePlugins, `${name}.sock`);
    const plugin = await FakePlugin.start({ socket, resource: `example.com/${name}`, ...over });
    this.#ending.push(() => plugin.stop());
    return plugin;
  }

  /** A plugin that may call, and does not serve. */
  unserved(socket: string, resource: string): FakePlugin {
    const plugin = new FakePlugin({ socket, resource });
    this.#ending.push(() => plugin.stop());
    return plugin;
  }

  /** The text of the checkpoint on the disk. */
  checkpoint(): string {
    return readFileSync(path.join(this.broker.root, 'state', 'checkpoint.json'), 'utf8');
  }

  /** Somebody who calls Register for a plugin, over a connection of its own. */
  caller(plugin: FakePlugin): RegisterCaller {
    const caller = new RegisterCaller(this.broker.kubeletSocket, plugin.resource, path.basename(plugin.socket));
    this.#ending.push(() => caller.close());
    return caller;
  }

  /** Somebody who asks for devices. */
  allocating(): AllocClient {
    const client = new AllocClient(path.join(this.broker.root, 'alloc.sock'));
    this.#ending.push(() => client.close());
    return client;
  }

  /** `plugin-broker sim device` as a process of its own. */
  simulate(...args: readonly string[]): Running {
    const { devicePlugins, registry } = this.broker;
    const running = start(['sim', 'device', '--dir', devicePlugins, '--registry', registry, ...args]);
    this.#ending.push(() => running.child.kill('SIGTERM'));
    return running;
  }

  /** The events of a plugin so far. */
  async events(resource: string): Promise<BrokerEvent[]> {
    const events: BrokerEvent[] = [];
    for await (const event of this.broker.admin.events(0, `DevicePlugin/${resource}`, false)) events.push(event);
    return events;
  }

  /** Waits for an event. */
  sees(resource: string, type: BrokerEvent['type'], pattern: RegExp, withinMs = 60_000): Promise<BrokerEvent> {
    const find = async (): Promise<BrokerEvent | undefined> =>
      (await this.events(resource)).find((event) => event.type === type && pattern.test(event.message));
    return eventually(`${resource}: ${type} ${String(pattern)}`, find, { withinMs, everyMs: 20 });
  }

  /** The row of a limit. */
  async limit(limit: string, resource: string): Promise<LimitView | undefined> {
    const rows = await this.broker.admin.limits('');
    return rows.find((row) => row.limit === limit && row.plugin === `DevicePlugin/${resource}`);
  }

  /** The incarnation at a socket. */
  async at(socket: string): Promise<PluginView | undefined> {
    return (await this.broker.plugins()).find((plugin) => plugin.socket === socket);
  }

  /** The text of /metrics; waits for it after a restart, where kubelet.sock is served first. */
  metrics(): Promise<string> {
    return eventually('/metrics is served', async () => {
      const [address] = [...this.broker.log.matchAll(/served on (127\.0\.0\.1:\d+)/g)].slice(-1).map(([, at]) => at);
      const response = await fetch(`http://${address ?? ''}/metrics`).catch(() => undefined);
      return response?.text();
    });
  }

  /** A metric by its name with its labels, as /metrics writes it; 0 where there is no such series. */
  async metric(series: string): Promise<number> {
    const line = (await this.metrics()).split('\n').find((one) => one.startsWith(`${series} `));
    return Number(line?.slice(series.length) ?? 0);
  }

  /** Lines of the log with an event name. */
  logged(event: string): readonly string[] {
    return this.broker.log.split('\n').filter((line) => line.includes(`"event":"${event}"`));
  }

  async #close(): Promise<void> {
    for (const end of this.#ending) await end();
    await this.broker.close();
  }
}
