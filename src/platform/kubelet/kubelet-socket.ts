// The kubelet's kubelet.sock, as its plugins see it: whether it is there, whether it is another one, and Register.
import path from 'node:path';
import type { Kubelet } from '../../front/ports.js';
import type { DeviceOptions } from '../../model/device-use.js';
import { Listeners } from '../../kernel/listeners.js';
import type { Alarm, Clock } from '../../kernel/clock.js';
import { DEVICE_PLUGIN_VERSION, incarnationKey } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { asKnown } from '../fs/as-known.js';
import { FlatWatch } from '../fs/flat-watch.js';
import { inDirectory, type PinnedDirectory } from '../fs/pinned-directory.js';
import { incarnationIf } from '../fs/socket-pin.js';
import type { Guarding } from '../grpc/owned-sockets.js';
import { CallFailed, PluginChannel } from '../grpc/plugin-client.js';
import { nextTurn } from '../time/next-turn.js';
import { kubeletsOwn } from './kubelets-own.js';
import { RegisterRequest, registrationService } from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';

/** The answer is empty. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** The kubelet dials us back before it answers Register, for up to ten seconds. */
const REGISTER_MS = 15_000;
/** File events get lost, and pods that a new kubelet admits before it knows our resources fail: it is looked this often without any. */
const LOOK_EVERY_MS = 1000;

/** Hears of the kubelet's socket: Front (front/front). */
export interface KubeletSocketListener {
  /** kubelet.sock is another one, or gone. */
  kubeletChanged(): void;
}

/** The ports of the socket. */
export interface KubeletSocketPorts {
  readonly clock: Clock;
  /** The directory cannot be watched (undefined: it can again): `FrontNews.unwatched` (front/front-news). */
  readonly unwatched: (why: string | undefined) => void;
  /** The guards of the connection to it. */
  readonly guarding: Guarding;
}

/** Calls to a socket that is held. */
interface Dialled {
  readonly calls: PluginChannel;
  readonly pin: PinnedSocket;
}

/** Follows kubelet.sock. */
export class KubeletSocket implements Kubelet {
  readonly listeners = new Listeners<KubeletSocketListener>();
  readonly #file: string;
  readonly #ports: KubeletSocketPorts;
  readonly #watch: FlatWatch;
  #seen: string | undefined;
  /** The look of this turn of the loop: hundreds of resources ask for it at the same moment. */
  #looked: { readonly incarnation: string | undefined } | undefined;
  #alarm: Alarm | undefined;
  /** One connection for all resources, to the socket that was looked at: they register side by side. */
  #channel: Dialled | undefined;
  #isClosed = false;

  constructor(file: string, ports: KubeletSocketPorts) {
    this.#file = file;
    this.#ports = ports;
    this.#watch = new FlatWatch(path.dirname(file), {
      changed: () => {
        const names = this.#watch.changes();
        // A kubelet writes its checkpoint there with each list, beside the sockets of plugins.
        if (names?.has(path.basename(file)) !== false) this.#look();
      },
      lost: () => undefined, // its own are looked for
      degraded: (why) => ports.unwatched(why),
    });
  }

  /** Begins to look. */
  open(): void {
    this.#seen = this.incarnation();
    this.#watch.start();
    this.#lookAgain();
  }

  incarnation(): string | undefined {
    if (this.#looked === undefined) {
      this.#looked = { incarnation: this.#incarnation() };
      void nextTurn().then(() => (this.#looked = undefined));
    }
    return this.#looked.incarnation;
  }

  #incarnation(): string | undefined {
    // A link there is no kubelet; following one may take long.
    const look = (directory: PinnedDirectory): string | undefined => {
      const incarnation = incarnationIf(directory.status(path.basename(this.#file)));
      return incarnation && incarnationKey(incarnation);
    };
    return asKnown(() => inDirectory(path.dirname(this.#file), look), this.#seen);
  }

  async register(resource: string, endpoint: string, options: DeviceOptions, signal: AbortSignal): Promise<void> {
    const request = RegisterRequest.encode({
      version: DEVICE_PLUGIN_VERSION,
      endpoint,
      resourceName: resource,
      options: {
        preStartRequired: options.preStartRequired,
        getPreferredAllocationAvailable: options.preferredAllocationAvailable,
      },
    });
    const channel = (this.#channel ??= this.#dialled());
    try {
      await channel.calls.unary(registrationService.Register.path, request, REGISTER_MS, signal);
    } catch (failure) {
      // A channel that could not connect waits before it tries again; a new one does not.
      if (failure instanceof CallFailed && failure.status === GRPC_STATUS.UNAVAILABLE) this.#drop(channel);
      throw failure;
    }
  }

  /** Ends it. */
  close(): void {
    this.#isClosed = true;
    this.#alarm?.cancel();
    this.#watch.close();
    this.#drop(this.#channel);
  }

  #look(): void {
    if (this.#isClosed) return;
    this.#looked = undefined; // something may have changed in this very turn
    const now = this.incarnation();
    if (now === this.#seen) return;
    this.#seen = now;
    this.#drop(this.#channel);
    this.listeners.tell((one) => one.kubeletChanged());
  }

  #lookAgain(): void {
    this.#alarm = this.#ports.clock.alarm(LOOK_EVERY_MS, () => {
      this.#look();
      this.#lookAgain();
    });
  }

  /** @throws CallFailed UNAVAILABLE where the kubelet has no socket */
  #dialled(): Dialled {
    const pin = kubeletsOwn(this.#file);
    return { pin, calls: new PluginChannel(pin.dialPath, MAX_ANSWER_BYTES, this.#ports.guarding, this.#file) };
  }

  #drop(channel: Dialled | undefined): void {
    if (channel === undefined) return;
    if (this.#channel === channel) this.#channel = undefined;
    channel.calls.close();
    channel.pin.release();
  }
}
