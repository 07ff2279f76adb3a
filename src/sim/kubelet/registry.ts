// The other door of a kubelet: sockets in plugins_registry (kubernetes: pkg/kubelet/pluginmanager, pluginwatcher and reconciler).
// It is looked at when the kubelet starts, before pods are admitted, and then once a second. An entry is known by its own file in
// the directory: the target of a link may change without anybody noticing. Entries that cannot be looked at, such
// as links to themselves in directories of users, or files that go meanwhile, are left out.
import { lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@grpc/grpc-js';
import { ifPossible } from '../../kernel/if-possible.js';
import { GuardedClient } from '../../platform/grpc/guarded-client.js';
import { systemClock } from '../../platform/time/system-clock.js';
import { loadServices, type LoadedMethod } from '../protos.js';
import type { RegistrationInfo } from '../registration-service.js';
import type { SimFacts } from '../sim-log.js';
import type { PluginClients } from './plugin-clients.js';

/** The reconciler's period. */
const TICK_MS = 1000;
const INFO_MS = 10_000;
const RETRY_MS = { first: 500, max: 122_000 };

interface Entry {
  readonly identity: string;
  /** Its resource, once registered. */
  resource?: string;
  isBusy: boolean;
  failures: number;
  retryAt: number;
}

/** Follows the registry. */
export class Registry {
  readonly #directory: string;
  readonly #clients: PluginClients;
  readonly #say: (event: string, facts: SimFacts) => void;
  readonly #entries = new Map<string, Entry>();

  constructor(directory: string, clients: PluginClients, say: (event: string, facts: SimFacts) => void) {
    this.#directory = directory;
    this.#clients = clients;
    this.#say = say;
  }

  /** Looks now and each second until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    mkdirSync(this.#directory, { recursive: true, mode: 0o750 });
    while (!signal.aborted) {
      this.#look();
      await pause(TICK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #look(): void {
    const found = new Map(this.#scan());
    for (const [file, { identity, resource }] of this.#entries) {
      if (found.get(file) === identity) continue;
      this.#entries.delete(file);
      if (resource !== undefined) this.#clients.deregister(resource);
    }
    const now = Date.now();
    for (const [file, identity] of found) {
      let entry = this.#entries.get(file);
      if (entry === undefined) {
        // An entry that is no socket when it appears is not looked at again.
        const isSocket = ifPossible(() => statSync(file))?.isSocket() === true;
        entry = { identity, isBusy: false, failures: 0, retryAt: isSocket ? 0 : Infinity };
        this.#entries.set(file, entry);
      }
      if (entry.resource === undefined && !entry.isBusy && entry.retryAt <= now) void this.#register(file, entry);
    }
  }

  *#scan(directory = this.#directory): Iterable<[string, string]> {
    for (const one of ifPossible(() => readdirSync(directory, { withFileTypes: true })) ?? []) {
      if (one.name.startsWith('.')) continue;
      const file = path.join(directory, one.name);
      if (one.isDirectory()) yield* this.#scan(file);
      else {
        const status = ifPossible(() => lstatSync(file, { bigint: true }));
        if (status !== undefined) yield [file, [status.dev, status.ino, status.ctimeNs].join(':')];
      }
    }
  }

  async #register(file: string, entry: Entry): Promise<void> {
    entry.isBusy = true;
    let plugin: RegistrationClient | undefined;
    try {
      plugin = new RegistrationClient(file);
      const { type, name, endpoint, supportedVersions } = await plugin.info();
      if (type !== 'DevicePlugin') {
        entry.retryAt = Infinity;
        this.#say('registry-ignored', { file, type });
        return;
      }
      if (!supportedVersions.includes('v1beta1'))
        throw new Error(`no supported version in ${supportedVersions.join()}`);
      await this.#clients.connect(name, endpoint === '' ? file : endpoint, 'registry');
      if (this.#entries.get(file) === entry) entry.resource = name;
      await plugin.notify('');
    } catch (failure) {
      entry.failures++;
      entry.retryAt = Date.now() + Math.min(RETRY_MS.first * 2 ** (entry.failures - 1), RETRY_MS.max);
      const { message } = failure as Error;
      this.#say('registry-failed', { file, message });
      await plugin?.notify(message).catch(() => undefined);
    } finally {
      entry.isBusy = false;
      plugin?.close();
    }
  }
}

class RegistrationClient {
  readonly #client: Client;
  readonly #api = loadServices('pluginregistration/v1/pluginregistration.proto', {
    'pluginregistration.Registration': ['GetInfo', 'NotifyRegistrationStatus'],
  })['pluginregistration.Registration'];

  constructor(socket: string) {
    this.#client = new GuardedClient(`unix:${socket}`, systemClock);
  }

  info(): Promise<RegistrationInfo> {
    return this.#call(this.#api.GetInfo, {}) as Promise<RegistrationInfo>;
  }

  async notify(error: string): Promise<void> {
    await this.#call(this.#api.NotifyRegistrationStatus, { pluginRegistered: error === '', error });
  }

  close(): void {
    this.#client.close();
  }

  #call(method: LoadedMethod, request: object): Promise<object> {
    const { path: name, requestSerialize, responseDeserialize } = method;
    const deadline = Date.now() + INFO_MS;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        name,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline },
        (failure, answer) => (failure === null ? resolve(answer as object) : reject(new Error(failure.details))),
      );
    });
  }
}
