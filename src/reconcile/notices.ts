// Plugins of the watcher door that serve but could not be told so yet.
import type { NoticeBoard } from '../model/registration.js';
import type { Reports } from './reports.js';
import type { Roster } from './roster.js';

/** Shows on an instance whether its plugin knows that it is registered. */
export class Notices implements NoticeBoard {
  readonly #roster: Roster;
  readonly #reports: Reports;

  constructor(roster: Roster, reports: Reports) {
    this.#roster = roster;
    this.#reports = reports;
  }

  isRegistered(id: string): boolean {
    return this.#roster.isConnected(id);
  }

  notifyPending(id: string, isPending: boolean, message: string): void {
    if (this.#roster.get(id)?.state !== 'ready') return;
    this.#reports.report(id, { state: 'ready', reason: isPending ? 'notify-pending' : 'registered', message });
  }
}
