// Takes the reports of handlers about instances, and enters them into the roster once the settling and the path are considered:
// a loss may be a restart, and a path may belong to another socket by now.
import type { InstanceReport, InstanceReports, PluginHandler } from '../model/plugin.js';
import { isConnected, type Instance } from '../model/instance.js';
import type { NoticeBoard } from '../model/registration.js';
import { afterPathLook, lookBefore, mayHaveLostPath, withListener, withPath } from './after-look.js';
import { afterServing } from './consequences.js';
import type { EndpointPorts, Endpoints } from './endpoints.js';
import type { Endings } from './endings.js';
import type { Roster } from './roster.js';
import type { Settling } from './settling.js';

/** The ports of reports. */
export interface ReportPorts {
  readonly roster: Roster;
  readonly handlers: ReadonlyMap<string, Pick<PluginHandler, 'coexist'>>;
  readonly endings: Endings;
  readonly endpoints: Pick<Endpoints, 'isListening'>;
  readonly sockets: Pick<EndpointPorts, 'keyAt'>;
  /** Names the loss of a plugin that the broker gave a reason to restart itself: the plugin stays `restored`. */
  readonly settling: Pick<Settling, 'lossOf'>;
}

/** Enters reports into the roster. Lifecycle (reconcile/lifecycle) hears of each change and acts on it. */
export class Reports implements InstanceReports, NoticeBoard {
  readonly #ports: ReportPorts;
  #stopped = false;

  constructor(ports: ReportPorts) {
    this.#ports = ports;
  }

  /** Enters a report of a handler. A loss may mean that the plugin restarts itself, because the broker gave it a reason. */
  report(id: string, report: InstanceReport): void {
    const { roster, settling, sockets } = this.#ports;
    const instance = roster.get(id);
    if (instance === undefined || this.#stopped) return;
    const { state: before } = instance;
    // The listeners of the change that follows find them there.
    instance.facts = report.facts ?? instance.facts;
    const loss = report.state === 'held' ? settling.lossOf(instance, report) : undefined;
    roster.report(id, loss ?? this.#looked(instance, report));
    if (mayHaveLostPath(instance, before))
      this.checkPath(instance, sockets.keyAt(instance.socketPath, instance.socketKey));
  }

  /** An instance took over: its predecessors are let go only now (make before break). */
  serving(id: string): void {
    const { roster, handlers, endings } = this.#ports;
    const instance = roster.get(id);
    if (instance === undefined) return;
    instance.isServing = true;
    instance.wasWatched = true;
    const siblings = roster.ofPlugin(instance.type, instance.name);
    const coexist = handlers.get(instance.type)?.coexist === true;
    for (const whom of afterServing(instance, { siblings, coexist })) endings.retire(whom);
  }

  /**
   * Enters which socket is at the path of a connected plugin.
   *
   * @param key its incarnation
   * @returns whether there was something new
   */
  checkPath(instance: Instance, key: string | undefined): boolean {
    const { state, reason } = instance;
    const report = afterPathLook(instance, key);
    if (report === undefined) return false;
    this.#ports.roster.report(instance.id, report);
    return report.state !== state || report.reason !== reason;
  }

  isRegistered(id: string): boolean {
    const instance = this.#ports.roster.get(id);
    return instance !== undefined && isConnected(instance);
  }

  /** A plugin of the watcher door that serves could not be told so yet, or was told now. */
  notifyPending(id: string, isPending: boolean, message: string): void {
    if (this.#ports.roster.get(id)?.state !== 'ready') return;
    this.report(id, { state: 'ready', reason: isPending ? 'notify-pending' : 'registered', message });
  }

  /** Takes no more reports: sessions that are closed from now on say nothing about plugins. */
  stop(): void {
    this.#stopped = true;
  }

  #looked(instance: Instance, report: InstanceReport): InstanceReport {
    const { sockets, endpoints } = this.#ports;
    switch (lookBefore(instance, report)) {
      case 'path':
        return withPath(instance, report, sockets.keyAt(instance.socketPath, instance.socketKey));
      case 'listener':
        return withListener(report, endpoints.isListening(instance));
      case undefined:
        return report;
    }
  }
}
