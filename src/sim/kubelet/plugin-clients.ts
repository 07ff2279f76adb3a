// The plugins of a kubelet by resource, of which each resource has one that counts (kubernetes:
// pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go and handler.go). Two of its ways surprise plugins, and are kept:
// the end of any stream of a resource cuts off the newest client, whichever stream it was, and DeRegister goes by name.
import type { SimFacts } from '../sim-log.js';
import type { DeviceManager } from './device-manager.js';
import { loadPluginApi, PluginClient, type ClientOptions } from './plugin-client.js';

/** A plugin that can be asked. */
export interface Endpoint {
  readonly client: PluginClient;
  readonly options: ClientOptions;
}

/** The ports of the clients. */
export interface PluginClientsPorts {
  readonly devices: DeviceManager;
  readonly now: () => number;
  readonly say: (event: string, facts: SimFacts) => void;
  /** Called after each list, which the kubelet writes to its checkpoint. */
  readonly listed: () => void;
}

/** All clients. */
export class PluginClients {
  readonly #ports: PluginClientsPorts;
  readonly #newest = new Map<string, PluginClient>();
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #all = new Set<PluginClient>();
  readonly #api = loadPluginApi();

  constructor(ports: PluginClientsPorts) {
    this.#ports = ports;
  }

  /** The plugin that is asked for a resource; one that has gone is still asked and fails. */
  endpoint(resource: string): Endpoint | undefined {
    return this.#endpoints.get(resource);
  }

  /**
   * Connects to a plugin and follows its lists. The answer does not wait for the first one.
   *
   * @throws Error when it cannot be reached; the newest client so far is then none any more
   */
  async connect(resource: string, socket: string, door: 'register' | 'registry'): Promise<void> {
    const client = new PluginClient(socket, this.#api);
    this.#newest.set(resource, client);
    this.#all.add(client);
    let options: ClientOptions;
    try {
      await client.connect();
      options = await client.options();
    } catch (failure) {
      this.#newest.delete(resource);
      this.#drop(client);
      throw failure;
    }
    this.#endpoints.set(resource, { client, options });
    this.#ports.devices.connected(resource);
    this.#ports.say('registered', { resource, socket, door, ...options });
    void this.#follow(resource, client);
  }

  /**
   * The registry lost the entry under which a resource was registered: its newest client goes, even if that is another plugin's.
   */
  deregister(resource: string): void {
    const newest = this.#newest.get(resource);
    if (newest !== undefined) this.#disconnect(resource, newest, 'its entry in the registry is gone');
  }

  /** Ends all connections. */
  close(): void {
    for (const client of this.#all) client.close();
  }

  async #follow(resource: string, client: PluginClient): Promise<void> {
    const { devices, say, listed } = this.#ports;
    const why = await client.watch((list) => {
      devices.listed(resource, list);
      const healthy = list.filter((one) => one.isHealthy).length;
      say('list', { resource, devices: list.length, healthy, socket: client.socket });
      listed();
    });
    this.#drop(client);
    const newest = this.#newest.get(resource);
    say('stream-ended', { resource, socket: client.socket, why, wasNewest: newest === client });
    if (newest !== undefined) this.#disconnect(resource, newest, why);
  }

  #disconnect(resource: string, client: PluginClient, why: string): void {
    this.#newest.delete(resource);
    this.#ports.devices.disconnected(resource, this.#ports.now());
    this.#ports.say('disconnected', { resource, socket: client.socket, why });
    this.#drop(client);
    this.#ports.listed();
  }

  #drop(client: PluginClient): void {
    this.#all.delete(client);
    client.close();
  }
}
