// Wires the broker in front of a kubelet: resources and leases on one side, the kubelet and its sockets on the other.
import type { LiveConfig } from '../config/live-config.js';
import { Front } from '../front/front.js';
import type { FrontNews } from '../front/front-news.js';
import { KubeletResources } from '../front/kubelet-resources.js';
import { Owners } from '../front/owners.js';
import type { Surroundings } from '../kernel/surroundings.js';
import type { UserFacts } from '../model/ids.js';
import { strangerUserOf } from '../model/instance.js';
import type { FrontedBefore } from '../platform/kubelet/fronted-before.js';
import { FrontDoor } from '../platform/kubelet/front-door.js';
import { kubeletPaths } from '../platform/kubelet/front-paths.js';
import { openKubeletSockets } from '../platform/kubelet/front-sockets.js';
import { KubeletSocket } from '../platform/kubelet/kubelet-socket.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { podResourcesClient } from '../platform/kubelet/pod-resources-client.js';
import { slices } from '../platform/time/slices.js';
import { frontWire } from '../platform/wire/front-wire.js';
import type { Core } from './core.js';
import type { Leases } from './leases.js';

/** The parts of the front line. */
export interface FrontLineParts extends Surroundings, UserFacts {
  readonly live: LiveConfig;
  readonly core: Core;
  readonly news: FrontNews;
  /** Which pods have which devices. */
  readonly owners: Owners;
  readonly leases: Pick<Leases, 'consumers' | 'allocations'>;
  /** The guards of connections that the broker opens. */
  readonly guarding: Guarding;
}

/** The owners of devices as the kubelet of the node names them; undefined where the broker stands before none. */
export function kubeletOwners(
  { live, clock, guarding }: Pick<FrontLineParts, 'live' | 'clock' | 'guarding'>,
  news: FrontNews,
  before: FrontedBefore,
): Owners | undefined {
  const { front, podResources: answered } = live.settings;
  if (!front.enabled) return undefined;
  const socket = kubeletPaths(front.kubeletDir, answered.upstream).podResources;
  const podResources = podResourcesClient(socket, guarding);
  const { ownersAsked: asked, ownerConfirmed: confirmed, usedTwice } = news;
  return new Owners({ podResources, clock, before, asked, confirmed, usedTwice, rests: slices });
}

/** The last answers to the kubelet have so many milliseconds to leave: it reads at once, or is frozen. */
const ANSWERS_LEAVE_MS = 200;

/** The front and everything that it stands on. */
export class FrontLine {
  readonly front: Front;
  readonly owners: Owners;
  readonly #parts: FrontLineParts;
  readonly #door: FrontDoor;
  readonly #kubelet: KubeletSocket;

  constructor(parts: FrontLineParts) {
    this.#parts = parts;
    const { live, core, owners, leases, clock, random, news, metrics, guarding } = parts;
    const { front, timeouts, guard } = live.settings;
    const { consumers } = leases;
    const paths = kubeletPaths(front.kubeletDir);
    this.#door = new FrontDoor({ clock, guard: () => guard, ended: news.connectionEnded });
    this.#kubelet = new KubeletSocket(paths.socket, { clock, guarding, unwatched: news.unwatched });
    this.owners = owners;
    const maxEntries = (): number => live.admission.maxPlugins;
    const userOf = (name: string): number | undefined => strangerUserOf(core.offered.of(name)?.instance, parts);
    this.front = new Front({
      resources: new KubeletResources({
        resources: core.offered,
        plugins: core.devicePlugins,
        ...{ live, consumers },
      }),
      owners,
      userOf,
      wire: frontWire,
      kubelet: this.#kubelet,
      openSockets: openKubeletSockets({ ...parts, paths, take: this.#door.take, maxEntries }),
      clock,
      random,
      limits: { holdMs: front.holdMs, ...timeouts },
      usesRegistry: front.doors === 'both',
      speculate: front.speculate,
      speculateForMs: front.speculateForMs,
      maxResources: maxEntries,
      changed: news.resourceChanged,
      called: (method, result) => metrics.frontCall(method, result),
      gateWaited: (seconds) => metrics.frontGate(seconds),
    });
    this.#kubelet.listeners.follow(this.front);
    owners.listeners.follow(this.front, consumers);
  }

  /** Begins, once the checkpoint was restored. */
  open(): void {
    this.#kubelet.open();
    this.owners.open();
    this.front.open();
    const { live, leases } = this.#parts;
    const { consumers, allocations } = leases;
    consumers.listeners.follow(this.front);
    live.onChange(consumers.reloaded);
    allocations.onChange(consumers.leaseChanged);
  }

  /** Gives calls so many milliseconds, then lets the kubelet go. Plugins must still be reachable. */
  async close(callsMs: number): Promise<void> {
    this.owners.close();
    await this.front.close(callsMs);
    this.#kubelet.close();
    await this.#door.close(ANSWERS_LEAVE_MS);
  }
}
