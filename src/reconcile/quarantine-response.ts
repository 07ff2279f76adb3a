// Applies a quarantine to sessions, and brings the plugin back when it is over.
import type { FloodListener, Quarantine } from '../model/flood.js';
import { DEVICE_PLUGIN, pluginKey, sameProcess } from '../model/ids.js';
import { isConnected, isReplaced, type Instance } from '../model/instance.js';
import type { Enroller } from '../model/registration.js';
import type { Endings } from './endings.js';
import type { Lifecycle } from './lifecycle.js';
import { afterRefusal } from './pull.js';
import type { Reconciler } from './reconciler.js';
import type { Reports } from './reports.js';
import type { Roster } from './roster.js';

/** The ports of the response. */
export interface QuarantineResponsePorts {
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
    reconciler.want({
      // Another user may have been kept out in the same name, and its pull goes on.
      key: `pull:${String(uid)}:${type}/${name}`,
      incarnation: endpoint,
      attempt: async (signal) => {
        // A plugin that registered meanwhile is newer than the endpoint named then.
        if (isSucceeded()) return { done: true };
        const request = { door: 'register', pulled: true, type, name, versions, endpoint, ...from } as const;
        const outcome = await enrolments.enrol(request, signal);
        return outcome.ok ? { done: true } : afterRefusal({ type, name }, outcome.refusal);
      },
    });
  }
}

/** Whether it has a session, or may get one without anybody calling. A predecessor that is replaced has to be asked for. */
function mayServe(instance: Instance): boolean {
  const isHeld = instance.state === 'held' && !isReplaced(instance);
  return isConnected(instance) || isHeld || instance.state === 'restored' || instance.state === 'connecting';
}

function isOffender(instance: Instance, uid: number, offenders: Quarantine['offenders']): boolean {
  // Any process may name its endpoint in a call: the listener tells which one a session belongs to, where its process is known.
  const process = instance.listener?.pid === undefined ? instance.caller : instance.listener;
  if (process === undefined) return offenders.some((offender) => offender.uid === uid);
  return offenders.some((offender) => sameProcess(offender, process));
}
