// Applies a quarantine to sessions, and brings the plugin back when it is over.
import type { FloodListener, Quarantine } from '../model/flood.js';
import { DEVICE_PLUGIN, pluginKey, sameProcess, strangerUser, type PluginId, type UserFacts } from '../model/ids.js';
import { isConnected, isReplaced, wasIn, type Instance } from '../model/instance.js';
import { isTransient, type Refusal } from '../model/reasons.js';
import type { Attempt, Enroller } from '../model/registration.js';
import type { Endings } from './endings.js';
import type { Lifecycle } from './lifecycle.js';
import { afterRefusal } from './pull.js';
import type { Reconciler } from './reconciler.js';
import type { Reports } from './reports.js';
import type { Roster } from './roster.js';

/** Endpoints of one ordinary user that are pulled at the same time; anybody may call in as many names as there are. */
const MAX_PULLS = 16;

/** The ports of the response. */
export interface QuarantineResponsePorts extends UserFacts {
  readonly enrolments: Pick<Enroller, 'enrol'>;
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly lifecycle: Lifecycle;
  readonly reports: Reports;
  readonly endings: Endings;
}

/** Closes sessions when a quarantine begins, and pulls their plugins when it ends. */
export class QuarantineResponse implements FloodListener {
  readonly #ports: QuarantineResponsePorts;
  /** The keys of pending pulls by ordinary user, oldest first. */
  readonly #pulls = new Map<number, Set<string>>();

  constructor(ports: QuarantineResponsePorts) {
    this.#ports = ports;
  }

  /**
   * Closes the sessions of the processes that offended; after a restart of the broker they are not opened. Their resources are
   * held, and their grace does not run. INVARIANT(innocent-serves-on): an incarnation whose process made none of the offending
   * calls goes on serving, whatever process calls in its name.
   */
  quarantineBegan({ type, name, uid, offenders }: Quarantine): void {
    const { roster, endings, reconciler, reports } = this.#ports;
    for (const instance of roster.ofPlugin(type, name)) {
      if (!mayServe(instance) || !isOffender(instance, uid, offenders)) continue;
      endings.endSession(instance, 'quarantine');
      reconciler.unwant(instance.id);
      reports.report(instance.id, {
        state: 'quarantined',
        reason: 'quarantine',
        message: 'its process exceeded its limits too often; it has no session and its resource is held',
      });
    }
  }

  /**
   * Pulls the plugin that was kept out: sessions that were closed, and the endpoint named last. A plugin that never calls again
   * is not lost.
   */
  quarantineEnded(quarantine: Quarantine): void {
    const { roster, lifecycle, reconciler } = this.#ports;
    for (const instance of roster.ofPlugin(quarantine.type, quarantine.name)) {
      if (instance.state === 'quarantined') lifecycle.pull(instance, 0);
    }
    this.#pullNamed(quarantine);
    // Sockets of the watcher door, and pulls of before, are still pending, and sleep until the quarantine was to end.
    reconciler.retryNow(pluginKey(quarantine));
  }

  #pullNamed({ type, name, uid, last }: Quarantine): void {
    if (last?.endpoint === undefined || last.door !== 'register' || type !== DEVICE_PLUGIN) return;
    const { roster, reconciler, enrolments } = this.#ports;
    const { endpoint, versions = [], caller } = last;
    const newest = roster.ofPlugin(type, name)[0]?.seq ?? 0;
    const isSucceeded = (): boolean => roster.ofPlugin(type, name).some((one) => isConnected(one) && one.seq > newest);
    const from = caller === undefined ? {} : { caller };
    // Another user may have been kept out in the same name, and its pull goes on.
    const key = `pull:${String(uid)}:${type}/${name}`;
    const user = strangerUser(uid, this.#ports);
    reconciler.want({
      key,
      incarnation: endpoint,
      ...(user === undefined ? {} : { dropped: () => this.#forget(user, key) }),
      attempt: async (signal) => {
        // A plugin that registered meanwhile is newer than the endpoint named then.
        if (isSucceeded()) return { done: true };
        const request = { door: 'register', pulled: true, type, name, versions, endpoint, ...from } as const;
        const outcome = await enrolments.enrol(request, signal);
        return outcome.ok ? { done: true } : this.#afterRefusal({ type, name }, outcome.refusal);
      },
    });
    if (user !== undefined) this.#bound(user, key);
  }

  /** The first answer of a plugin that was never in decides: it may be invented, and would be asked for ever. */
  #afterRefusal(plugin: PluginId, refusal: Refusal): Attempt {
    const siblings = this.#ports.roster.ofPlugin(plugin.type, plugin.name);
    const isOver = !siblings.some(wasIn) && !isTransient(refusal) && refusal.code !== 'NO_ANSWER';
    return isOver ? { done: true } : afterRefusal(plugin, refusal);
  }

  /** Notes a pull that is pending; the oldest one too many of its user gives way. */
  #bound(user: number, key: string): void {
    const pulls = this.#pulls.get(user) ?? new Set();
    this.#pulls.set(user, pulls);
    pulls.delete(key);
    pulls.add(key);
    const [oldest] = pulls;
    if (pulls.size <= MAX_PULLS || oldest === undefined) return;
    pulls.delete(oldest);
    this.#ports.reconciler.unwant(oldest);
  }

  #forget(user: number, key: string): void {
    const pulls = this.#pulls.get(user);
    pulls?.delete(key);
    if (pulls?.size === 0) this.#pulls.delete(user);
  }
}

/**
 * Whether it has a session, or may get one without anybody calling. A predecessor that is replaced has to be asked for; one whose
 * registration socket has gone stays out, and its grace runs.
 */
function mayServe(instance: Instance): boolean {
  const isHeld = instance.state === 'held' && !isReplaced(instance) && instance.reason !== 'socket-removed';
  return isConnected(instance) || isHeld || instance.state === 'restored' || instance.state === 'connecting';
}

function isOffender(instance: Instance, uid: number, offenders: Quarantine['offenders']): boolean {
  // Any process may name its endpoint in a call: the listener tells which one a session belongs to, where its process is known.
  const process = instance.listener?.pid === undefined ? instance.caller : instance.listener;
  if (process === undefined) return offenders.some((offender) => offender.uid === uid);
  return offenders.some((offender) => sameProcess(offender, process));
}
