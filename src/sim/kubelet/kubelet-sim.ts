// A simulated kubelet as far as plugins see one: its start, its two doors, its pods, its node status.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { status, type sendUnaryData, type Server, type ServerUnaryCall } from '@grpc/grpc-js';
import { Faults } from '../device/faults.js';
import { PluginServer } from '../../device-plugin/plugin-server.js';
import { withPath } from '../../platform/fs/pinned-directory.js';
import { makeOnlyOurs } from '../../platform/kubelet/only-ours.js';
import { ownUid } from '../../platform/process/own-uid.js';
import { loadServices } from '../protos.js';
import type { SimFacts } from '../sim-log.js';
import { readCheckpoint, writeCheckpoint } from './checkpoint.js';
import { DeviceManager } from './device-manager.js';
import type { KubeletSimOptions } from './options.js';
import { PluginClients } from './plugin-clients.js';
import { PodLoop } from './pod-loop.js';
import { NodePods, nameOf, parseCommand } from './pods.js';
import { servePodResources } from './pod-resources.js';
import { Registry } from './registry.js';
import { KUBELET_CHECKPOINT, wipe } from './wipe.js';

/** From kubelet.sock to the first admission, in milliseconds, as measured on a kubelet 1.26 with static pods. */
const FIRST_ADMISSION = { from: 25, to: 99 };

/** A running kubelet. */
export class KubeletSim {
  readonly #options: KubeletSimOptions;
  readonly #say: (event: string, facts?: SimFacts) => void;
  readonly #faults: Faults;
  readonly #devices = new DeviceManager();
  readonly #clients: PluginClients;
  readonly #pods: NodePods;
  readonly #node: string;
  readonly #checkpoint: string;
  readonly #halt = new AbortController();
  #loop: PodLoop | undefined;
  #server: PluginServer | undefined;
  #podResources: PluginServer | undefined;
  #nodeStatus = '';

  constructor(options: KubeletSimOptions, say: (event: string, facts?: SimFacts) => void) {
    this.#options = options;
    this.#say = say;
    this.#faults = new Faults(options.fault);
    this.#checkpoint = path.join(options.dir, KUBELET_CHECKPOINT);
    this.#node = options.node ?? path.join(path.dirname(options.dir), 'node.json');
    this.#pods = new NodePods(this.#node, (failure) => this.#unwritten('pods', this.#node, failure));
    this.#clients = new PluginClients({
      devices: this.#devices,
      now: Date.now,
      say,
      listed: () => this.#save(),
    });
  }

  /**
   * Wipes, reads its checkpoint, listens, looks into the registry, and admits the pods it knows a moment later.
   *
   * @throws Error with a sentence, before anything was touched, when it is root and another user may exchange its directories
   */
  async start(): Promise<void> {
    const { dir, registry, podResources, admitAfter, startRetry, reboot } = this.#options;
    const { signal } = this.#halt;
    makeDirectory(path.dirname(this.#node));
    // A kubelet makes `plugins` at its start, before anybody needs it.
    for (const each of [dir, registry, podResources, path.join(path.dirname(dir), 'plugins')]) {
      makeDirectory(path.dirname(each));
      mkdirSync(each, { recursive: true, mode: 0o750 });
    }
    this.#pods.restore(reboot);
    const { given, resources } = readCheckpoint(this.#checkpoint);
    this.#devices.restore(resources, given, Date.now());
    const removed = wipe(dir);
    if (removed.length > 0) this.#say('wiped', { removed });
    this.#server = await PluginServer.listen(path.join(dir, 'kubelet.sock'), (server) => this.#attach(server));
    this.#podResources = await servePodResources({
      directory: podResources,
      devices: this.#devices,
      pods: this.#pods,
      faults: this.#faults,
      say: this.#say,
    });
    this.#say('listening', { socket: this.#server.path });
    void new Registry(registry, this.#clients, this.#say).follow(signal);
    const { from, to } = FIRST_ADMISSION;
    const firstAfterMs = admitAfter ?? from + Math.random() * (to - from);
    this.#loop = new PodLoop(
      {
        devices: this.#devices,
        clients: this.#clients,
        pods: this.#pods,
        say: this.#say,
        saved: () => this.#save(),
        startRetryMs: startRetry,
        signal,
      },
      pause(firstAfterMs, undefined, { signal }).catch(() => undefined),
    );
    for (const pod of this.#pods.all()) if (pod.phase !== 'Failed') this.#loop.add(pod);
    void this.#reportStatus(signal);
  }

  /** Obeys a line of standard input. A line with an unknown command is reported. */
  obey(line: string): void {
    if (line.trim() === '') return;
    try {
      const command = parseCommand(line);
      if (command.kind === 'create') {
        this.#pods.put(command.pod);
        this.#loop?.add(command.pod);
        return;
      }
      const pod = this.#pods.get(command.pod);
      if (pod === undefined) throw new Error(`there is no pod ${command.pod}`);
      if (command.kind === 'delete') {
        this.#pods.remove(command.pod);
        this.#say('deleted', { pod: nameOf(pod) });
        return;
      }
      const container = pod.containers.find(({ name }) => name === command.container);
      if (container === undefined) throw new Error(`${command.pod} has no container ${command.container}`);
      this.#loop?.restart(pod, container);
    } catch (failure) {
      this.#say('not-understood', { message: (failure as Error).message });
    }
  }

  /** Ends as a kubelet ends: the file of its socket stays and refuses connections. */
  async stop(): Promise<void> {
    this.#halt.abort();
    this.#clients.close();
    await Promise.all([this.#server?.close({ keepFile: true }), this.#podResources?.close({ keepFile: true })]);
  }

  #attach(server: Server): void {
    const { 'v1beta1.Registration': api } = loadServices('deviceplugin/v1beta1/deviceplugin.proto', {
      'v1beta1.Registration': ['Register'],
    });
    const register = async ({ version, endpoint, resourceName }: Register): Promise<object> => {
      this.#say('called', { method: 'Register', resource: resourceName });
      await this.#faults.before('Register');
      if (version !== 'v1beta1') throw new Error(`requested API version ${version} is not supported by kubelet`);
      if (!/^[^/]+\/[^/]+$/.test(resourceName) || resourceName.startsWith('kubernetes.io/')) {
        throw new Error(`the ResourceName ${JSON.stringify(resourceName.slice(0, 80))} is invalid`);
      }
      await this.#clients.connect(resourceName, path.join(this.#options.dir, endpoint), 'register');
      return {};
    };
    server.addService(api, {
      Register: (call: ServerUnaryCall<Register, object>, reply: sendUnaryData<object>) => {
        register(call.request).then(
          (answer) => reply(null, answer),
          (failure: unknown) => {
            const { message, code = status.UNKNOWN } = failure as Error & { readonly code?: status };
            this.#say('register-failed', { resource: call.request.resourceName, message });
            reply({ code, details: message });
          },
        );
      },
    });
  }

  async #reportStatus(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const node = this.#devices.capacity(Date.now(), this.#options.capacityGrace);
      const text = JSON.stringify(Object.fromEntries(node));
      if (text !== this.#nodeStatus) this.#say('node', { resources: Object.fromEntries(node) });
      this.#nodeStatus = text;
      await pause(this.#options.statusEvery, undefined, { signal }).catch(() => undefined);
    }
  }

  #save(): void {
    if (this.#halt.signal.aborted) return;
    try {
      writeCheckpoint(this.#checkpoint, this.#devices);
    } catch (failure) {
      this.#unwritten('checkpoint', this.#checkpoint, failure as Error);
    }
  }

  /** A kubelet goes on, too. */
  #unwritten(what: 'checkpoint' | 'pods', file: string, { message }: Error): void {
    this.#say(`${what}-failed`, { message: withPath(message, path.dirname(file)) });
  }
}

/** As root it empties directories and writes files: where others may put links in its way, these would be somebody else's. */
function makeDirectory(directory: string): void {
  if (ownUid() === 0) makeOnlyOurs(directory);
  else mkdirSync(directory, { recursive: true });
}

/** A v1beta1.RegisterRequest. */
type Register = Readonly<Record<'version' | 'endpoint' | 'resourceName', string>>;
