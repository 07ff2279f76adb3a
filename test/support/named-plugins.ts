// Device plugins of the field as far as a restart of their registry is concerned: the event on which each registers again,
// and the effect of a second ListAndWatch on one of its lives. They are those that the shipped rules name.
import { watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf } from '../../src/device-plugin/plugin-server.js';
import { FakePlugin, healthy } from './fake-plugin.js';

/** The traits that tell one plugin from the others. */
export interface Manner {
  readonly who: string;
  readonly resource: string;
  /** The file name of its socket in its nth life. */
  readonly file: (life: number) => string;
  /** It begins a new life then: its socket was removed, told by inotify or found when it looks, or kubelet.sock is new. */
  readonly restartsOn: 'own-socket-event' | 'own-socket-poll' | 'kubelet-socket';
  /**
   * A thing that handlers of ListAndWatch share, none of which looks whether its stream is still there. `channel`: one of them
   * takes a change of health, and the oldest waits longest. `close`: that, and each closes the same channel at the end.
   * `server`: that, and one that finds its stream dead stops everything.
   */
  readonly handlers: 'channel' | 'close' | 'server';
  /** Its reaction to a refused Register. */
  readonly refused: 'retry' | 'exit';
}

/** How often those that poll look; the real ones look every second or every five. */
const POLL_MS = 500;
const RETRY_MS = 500;
const base64 = (text: string): string => Buffer.from(text).toString('base64url');

/** At least one for each rule of `shippedRules`. */
export const MANNERS: readonly Manner[] = [
  {
    who: 'KubeVirt, by its resource',
    resource: 'devices.kubevirt.io/kvm',
    file: () => 'kvm.sock',
    restartsOn: 'own-socket-event',
    handlers: 'close',
    refused: 'retry',
  },
  {
    who: 'KubeVirt, with a host device that carries the name of its vendor',
    resource: 'nvidia.com/GRID_T4-1Q',
    file: () => 'kubevirt-GRID_T4-1Q.sock',
    restartsOn: 'own-socket-event',
    handlers: 'close',
    refused: 'retry',
  },
  {
    who: 'Intel',
    resource: 'gpu.intel.com/i915',
    file: () => 'gpu.intel.com-i915.sock',
    restartsOn: 'own-socket-event',
    handlers: 'server',
    refused: 'exit',
  },
  {
    who: 'SR-IOV',
    resource: 'intel.com/intel_sriov_netdevice',
    file: () => 'intel.com_intel_sriov_netdevice.sock',
    restartsOn: 'own-socket-poll',
    handlers: 'channel',
    refused: 'exit',
  },
  {
    who: 'generic-device-plugin',
    resource: 'squat.ai/fuse',
    file: (life) => `gdp-${base64('squat.ai/fuse')}-${String(1_700_000_000 + life)}.sock`,
    restartsOn: 'own-socket-poll',
    handlers: 'channel',
    refused: 'retry',
  },
  {
    who: 'NVIDIA',
    resource: 'nvidia.com/gpu',
    file: () => 'nvidia-gpu.sock',
    restartsOn: 'kubelet-socket',
    handlers: 'channel',
    refused: 'retry',
  },
  {
    who: 'HAMi, under a resource name of its own',
    resource: 'example.com/vgpu',
    file: () => 'nvidia-vgpu.sock',
    restartsOn: 'kubelet-socket',
    handlers: 'channel',
    refused: 'retry',
  },
];

const WELL = healthy('0', '1', '2');

/** One of them, alive, in the directory of a broker. */
export class NamedPlugin {
  readonly manner: Manner;
  /** How often it was registered. */
  registered = 0;
  /** Why its process would have ended. */
  death: string | undefined;
  readonly #folder: string;
  readonly #kubeletSocket: string;
  #watcher: FSWatcher | undefined;
  #poll: NodeJS.Timeout | undefined;
  #life: FakePlugin | undefined;
  #lives = 0;
  #own: string | undefined;
  #kubelet: string | undefined;
  /** Handlers of this life that waited for a change on a dead stream, and have ended with it. */
  #spent = 0;
  #isSick = false;
  #restarting: Promise<void> | undefined;
  #isStopped = false;

  private constructor(manner: Manner, folder: string) {
    this.manner = manner;
    this.#folder = folder;
    this.#kubeletSocket = path.join(folder, 'kubelet.sock');
  }

  /** Serves, registers, and waits for that event. */
  static async start(manner: Manner, folder: string): Promise<NamedPlugin> {
    const one = new NamedPlugin(manner, folder);
    one.#kubelet = identityOf(one.#kubeletSocket);
    await one.#live();
    if (manner.restartsOn === 'own-socket-poll') one.#poll = setInterval(() => one.#look(), POLL_MS);
    else one.#watcher = watch(folder, () => one.#look());
    return one;
  }

  /** One of its three devices becomes sick, or well again; told by one of the handlers of this life. */
  flip(): void {
    this.#isSick = !this.#isSick;
    const life = this.#life;
    if (life === undefined) return; // the next life begins with how things are
    const waiting = life.count('ListAndWatch') - this.#spent;
    if (waiting === life.streams) {
      life.setDevices(this.#devices());
      return;
    }
    this.#spent += 1;
    if (this.manner.handlers === 'server') this.#die('a handler found its stream dead');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watcher?.close();
    clearInterval(this.#poll);
    await this.#restarting;
    await this.#life?.stop();
  }

  #devices(): ReturnType<typeof healthy> {
    return this.#isSick ? [{ id: '0', health: 'Unhealthy' }, ...WELL.slice(1)] : WELL;
  }

  #die(why: string): void {
    this.death = why;
    this.#isStopped = true;
    void this.#life?.stop();
  }

  #look(): void {
    if (this.#restarting !== undefined || this.#isStopped || !this.#mustRestart()) return;
    this.#restarting = this.#restart().finally(() => (this.#restarting = undefined));
  }

  #mustRestart(): boolean {
    if (this.manner.restartsOn !== 'kubelet-socket') return identityOf(this.#socket()) !== this.#own;
    const now = identityOf(this.#kubeletSocket);
    if (now === undefined || now === this.#kubelet) return false;
    this.#kubelet = now;
    return true;
  }

  async #restart(): Promise<void> {
    const handlers = this.#life?.count('ListAndWatch') ?? 0;
    await this.#life?.stop();
    this.#life = undefined;
    if (this.manner.handlers === 'close' && handlers > 1) this.#die('close of closed channel');
    else await this.#live();
  }

  async #live(): Promise<void> {
    while (!this.#isStopped) {
      this.#lives += 1;
      this.#spent = 0;
      const life = new FakePlugin({ socket: this.#socket(), resource: this.manner.resource, devices: this.#devices() });
      await life.serve();
      this.#own = identityOf(life.socket);
      this.#life = life;
      try {
        await life.register(this.#kubeletSocket);
        this.registered += 1;
        return;
      } catch (refusal) {
        await life.stop();
        this.#life = undefined;
        if (this.manner.refused === 'exit') this.#die(`refused: ${String(refusal)}`);
        else await pause(RETRY_MS);
      }
    }
  }

  #socket(): string {
    return path.join(this.#folder, this.manner.file(this.#lives));
  }
}
