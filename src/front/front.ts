// The front: every resource that is for the pods of the kubelet, before that kubelet.
import type { Alarm } from '../kernel/clock.js';
import { FairRoom } from '../kernel/fair-room.js';
import { inTurns } from '../kernel/in-turns.js';
import type { Holding, ListListener } from '../model/device-list.js';
import type { FrontState, FrontView } from '../model/front.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { Change, Instance, RosterListener } from '../model/instance.js';
import { KeptWaiting } from './kept-waiting.js';
import { FrontedResource } from './fronted-resource.js';
import type { FrontedResourcePorts } from './fronted-resource-ports.js';
import type { OwnersListener } from './owners.js';
import { COMPOSING_TURNS } from './list-composer.js';
import { Registrations } from './registrations.js';
import type { Speculation } from './standing.js';
import { ToldShares } from './told-shares.js';

/** The ports of the front. */
export interface FrontPorts extends Omit<
  FrontedResourcePorts,
  'speculation' | 'registrations' | 'composing' | 'keptWaiting' | 'shares'
> {
  readonly speculate: 'off' | 'gated';
  readonly speculateForMs: number;
  /** Resources at most; further ones are not fronted: admission.maxPlugins of LiveConfig (config/live-config). */
  readonly maxResources: () => number;
}

/** All fronted resources. */
export class Front implements RosterListener, ListListener, OwnersListener {
  readonly #ports: FrontPorts;
  readonly #resources = new Map<string, FrontedResource>();
  readonly #registrations: Registrations;
  readonly #composing = new FairRoom(COMPOSING_TURNS);
  readonly #keptWaiting = new KeptWaiting();
  readonly #shares: ToldShares;
  #speculation: Speculation;
  #alarm: Alarm | undefined;
  #isOpen = false;
  #isRoomTold = false;

  constructor(ports: FrontPorts) {
    this.#ports = ports;
    this.#registrations = new Registrations(ports.clock);
    this.#shares = new ToldShares(ports.owners, () => this.#thereIsRoom());
    this.#speculation = ports.speculate === 'gated' ? 'on' : 'off';
  }

  /** Begins. Which devices pods have is not known yet, so that the resources come in no order. */
  open(): void {
    const { clock, speculateForMs, resources } = this.#ports;
    this.#isOpen = true;
    if (this.#speculation === 'on') {
      this.#alarm = clock.alarm(speculateForMs, () => {
        this.#speculation = 'over';
        for (const resource of this.#resources.values()) resource.refresh();
      });
    }
    for (const name of resources.names()) this.refresh(name);
  }

  /** The facts about a resource changed: its plugin, its list, or the owners of its devices. */
  refresh(name: string): void {
    if (!this.#isOpen) return;
    const known = this.#resources.get(name);
    if (known !== undefined) {
      known.refresh();
      return;
    }
    const { resources, maxResources } = this.#ports;
    this.#shares.leave(name);
    if (resources.now(name) === undefined) return;
    this.#letGo();
    if (this.#resources.size >= maxResources()) return;
    const fronted = new FrontedResource(name, {
      ...this.#ports,
      registrations: this.#registrations,
      composing: this.#composing,
      keptWaiting: this.#keptWaiting,
      shares: this.#shares,
      speculation: () => this.#speculation,
    });
    this.#resources.set(name, fronted);
    fronted.refresh();
  }

  /**
   * Resources that are over stop serving: each new one makes room, so that no more than are known are kept for long.
   */
  #letGo(): void {
    for (const [name, resource] of this.#resources) {
      if (!resource.isOver) continue;
      this.#resources.delete(name);
      void resource.close(0);
    }
  }

  /** The share of a user has more room: resources that found none ask again, once for all that leave it at one moment. */
  #thereIsRoom(): void {
    if (this.#isRoomTold) return;
    this.#isRoomTold = true;
    queueMicrotask(() => {
      this.#isRoomTold = false;
      for (const resource of this.#resources.values()) if (resource.view.state === 'too-large') resource.refresh();
    });
  }

  changed({ instance }: Change): void {
    if (instance.type === DEVICE_PLUGIN) this.refresh(instance.name);
  }

  removed(instance: Instance): void {
    if (instance.type === DEVICE_PLUGIN) this.refresh(instance.name);
  }

  listApplied({ resource }: Holding): void {
    this.refresh(resource);
  }

  ownersChanged(resource: string): void {
    this.refresh(resource);
  }

  ownersKnown(): void {
    this.#shares.ownersKnown();
  }

  /** Its devices are for pods now, or not any more: Consumers (allocation/consumers) tells. */
  consumerMoved(resource: string): void {
    this.refresh(resource);
  }

  /**
   * kubelet.sock is another one, or gone. Resources with the most devices that pods have come first, because a new kubelet admits
   * those pods again at once: of root and the broker's user, and then of ordinary users in turns, who have as many as they like.
   */
  kubeletChanged(): void {
    const held = [...this.#resources.values()]
      .map((resource) => ({ resource, count: this.#ports.owners.idsOf(resource.name).length }))
      .sort((a, b) => b.count - a.count);
    for (const { resource } of inTurns(held, ({ resource: { user } }) => user)) resource.kubeletChanged();
  }

  kubeletHas(resources: ReadonlySet<string>): void {
    for (const [name, resource] of this.#resources) if (!resources.has(name)) resource.notHad();
  }

  /** How a resource stands; undefined when it is not fronted. */
  view(name: string): FrontView | undefined {
    return this.#resources.get(name)?.view;
  }

  /** Whether the kubelet has a resource of ours, so that its own answers tell of it. */
  isFronted(name: string): boolean {
    return this.view(name)?.state === 'fronted';
  }

  /** Resources by state. */
  states(): Map<FrontState, number> {
    const states = new Map<FrontState, number>();
    for (const { view } of this.#resources.values()) states.set(view.state, (states.get(view.state) ?? 0) + 1);
    return states;
  }

  /**
   * Finishes calls and stops serving. The kubelet keeps the last lists until its streams end.
   *
   * @param callsMs milliseconds for calls under way
   */
  async close(callsMs: number): Promise<void> {
    this.#isOpen = false;
    this.#alarm?.cancel();
    const all = [...this.#resources.values()];
    const until = this.#ports.clock.mono() + callsMs;
    // A call of one resource may last: meanwhile the kubelet is told of the others, or it would take their devices for gone.
    await Promise.all(all.map((resource) => resource.finish(callsMs)));
    await Promise.all(all.map((resource) => resource.close(Math.max(0, until - this.#ports.clock.mono()))));
    this.#resources.clear();
  }
}
