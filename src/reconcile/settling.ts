// Plugins to which the broker gave a reason to register afresh, and how long they may be away for it: kubelet.sock was made anew
// beside them, or their own socket was removed. A plugin that goes away meanwhile is restarting itself and stays allocatable.
import type { Alarm, Clock } from '../kernel/clock.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { InstanceReport } from '../model/plugin.js';
import type { RestartSettings } from '../model/settings.js';
import { isConnected, type Change, type Instance, type RosterListener } from '../model/instance.js';
import { afterAway, type AwayAction } from './consequences.js';
import { lostReport } from './pull.js';
import type { Roster } from './roster.js';

/** Losses of a plugin that is there: it does not restart itself. */
const IS_THERE: ReadonlySet<string> = new Set(['not-answering', 'update-flood']);

/** A plugin whose socket was removed is given this long where restart.settle gives nobody time. */
const ANSWERS_WITHIN_MS = 30_000;

/** Names of sockets that were taken away for a while. KeptSockets (platform/fs/kept-sockets) has them. */
export interface KeptSockets {
  /**
   * Gives a socket its name back, if somebody listens on it and the name is free, and lets go of it in any case.
   *
   * @returns whether it has its name again
   */
  putBack(endpointKey: string): boolean;
  /** Drops a kept socket. */
  discard(endpointKey: string): void;
}

/** The ports of settling. */
export interface SettlingPorts {
  readonly roster: Roster;
  readonly clock: Clock;
  /** A `settle` of 0: nobody is given time. */
  readonly settings: Pick<RestartSettings, 'settleMs'>;
  readonly kept: KeptSockets;
}

interface Group {
  readonly ids: Set<string>;
  /** Whether its instances stay allocatable when they go. */
  readonly settles: boolean;
  alarm: Alarm | undefined;
}

/** The plugins that were sent away, and until when. */
export class Settling implements RosterListener {
  readonly #ports: SettlingPorts;
  /** By instance: those that were sent away together, and have one alarm. */
  readonly #away = new Map<string, Group>();

  constructor(ports: SettlingPorts) {
    this.#ports = ports;
  }

  /** From now on a loss of these instances means that they restart themselves, for restart.settle. */
  sendAway(ids: Iterable<string>): void {
    const limitMs = this.#ports.settings.settleMs;
    if (limitMs > 0) this.#add(new Set(ids), limitMs, true);
  }

  /** kubelet.sock is about to be made anew: device plugins of the Register door may take that as a restart of the kubelet. */
  kubeletSocketRemade(): void {
    const connected = [...this.#ports.roster.all()].filter(
      (instance) => mayRestartItself(instance) && isConnected(instance) && instance.reason !== 'recycled',
    );
    this.sendAway(connected.map(({ id }) => id));
  }

  /** The report of a loss: a plugin that was sent away and goes stays `restored`. Undefined: the given report stands. */
  readonly lossOf = (instance: Instance, { reason }: InstanceReport): InstanceReport | undefined => {
    if (IS_THERE.has(reason) || this.#away.get(instance.id)?.settles !== true) return undefined;
    if (!mayRestartItself(instance)) return undefined;
    if (instance.state !== 'restored' && !isConnected(instance)) return undefined;
    const why = instance.reason === 'recycled' ? 'its socket was removed' : 'kubelet.sock was re-created';
    return {
      state: 'restored',
      reason: 'settling',
      message: `disconnected after ${why}; stays allocatable for restart.settle`,
    };
  };

  /** Whether an instance of the checkpoint will ask for the kept socket with this key. */
  isAwaited(endpointKey: string): boolean {
    return mayAskFor(endpointKey, this.#ports.roster.all());
  }

  /** Cancels the clocks. */
  stop(): void {
    for (const { alarm } of this.#away.values()) alarm?.cancel();
    this.#away.clear();
  }

  /** An instance changed: starts or ends its clock, and puts its kept socket back or discards it. */
  changed(change: Change): void {
    for (const action of afterAway(change)) this.#act(change.instance, action);
  }

  /** An entry was dropped. */
  removed({ id, endpointKey }: Instance): void {
    this.#return(id);
    this.#ports.kept.discard(endpointKey);
  }

  #act({ id, endpointKey }: Instance, action: AwayAction): void {
    const { kept, settings } = this.#ports;
    switch (action) {
      case 'start-clock': {
        const { settleMs } = settings;
        if (!this.#away.has(id)) this.#add(new Set([id]), settleMs > 0 ? settleMs : ANSWERS_WITHIN_MS, settleMs > 0);
        return;
      }
      case 'stop-clock':
        return this.#return(id);
      case 'put-back':
        return void kept.putBack(endpointKey);
      case 'discard':
        return kept.discard(endpointKey);
    }
  }

  #add(ids: Set<string>, limitMs: number, settles: boolean): void {
    if (ids.size === 0) return;
    const group: Group = { ids, settles, alarm: undefined };
    for (const id of ids) {
      this.#return(id);
      this.#away.set(id, group);
    }
    group.alarm = this.#ports.clock.alarm(limitMs, () => this.#over(group));
  }

  #over({ ids }: Group): void {
    for (const id of [...ids]) {
      this.#return(id);
      const instance = this.#ports.roster.get(id);
      if (instance?.state === 'ready' && instance.reason === 'recycled') this.#unanswered(instance);
      else if (instance?.state === 'restored' && instance.reason === 'settling') {
        this.#ports.roster.report(id, lostReport('did not register again within restart.settle'));
      }
    }
  }

  /** Its list has not been watched since its socket was removed, and nobody registered in its place. */
  #unanswered({ id }: Instance): void {
    const message =
      'its socket was removed so that it registers afresh, and it did not within restart.settle; nothing tells how its devices are';
    this.#ports.roster.report(id, { state: 'held', reason: 'recycle-unanswered', message });
  }

  #return(id: string): void {
    const group = this.#away.get(id);
    if (group === undefined) return;
    this.#away.delete(id);
    group.ids.delete(id);
    if (group.ids.size === 0) group.alarm?.cancel();
  }
}

/** Whether one of these instances will ask for the kept socket with this key: held ones have asked for theirs already. */
export function mayAskFor(key: string, instances: Iterable<Pick<Instance, 'endpointKey' | 'state'>>): boolean {
  return [...instances].some(({ endpointKey, state }) => endpointKey === key && state !== 'held');
}

/** Only device plugins that call Register watch kubelet.sock; drivers and sockets of the registry do not. */
function mayRestartItself({ door, type }: Instance): boolean {
  return door === 'register' && type === DEVICE_PLUGIN;
}
