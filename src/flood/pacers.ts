// The pacers of all sessions that are open.
import type { PacedEnrolment } from '../model/flood.js';
import type { PolicySource } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import { updatesView } from './limit-views.js';
import { makeRoom } from './make-room.js';
import { ListShares, type SharePorts } from './list-shares.js';
import { UpdatePacer, type PacerPorts } from './update-pacer.js';

/** A session that was closed for its lists is shown for so long, unless the plugin has another one. */
const CUT_OFF_SHOWN_MS = 10 * 60_000;
/** So many of them. */
const MOST_CUT_OFF = 1024;

/** Opens pacers, and brings a new policy to those that are open. */
export class Pacers {
  readonly #ports: PacerPorts;
  readonly #ownUid: number;
  readonly #open = new Set<UpdatePacer>();
  /** The last row of sessions that were closed for their lists, by plugin and uid. */
  readonly #cutOff = new Map<string, { readonly view: LimitView; readonly atMs: number }>();

  constructor(
    ports: Omit<PacerPorts, 'closed' | 'shares'>,
    { ownUid, userOf, processorShare }: Omit<SharePorts, 'clock' | 'events'>,
  ) {
    const { clock, events } = ports;
    const shares = new ListShares({ clock, events, ownUid, userOf, processorShare });
    this.#ports = { ...ports, shares, closed: (pacer) => this.#closed(pacer) };
    this.#ownUid = ownUid;
  }

  /** The pace of one session's lists; closed with the session. */
  open({ type, name, policy, caller, socket }: PacedEnrolment): UpdatePacer {
    const uid = caller?.uid ?? this.#ownUid;
    const pacer = new UpdatePacer({ type, name, uid, socket: socket.path, caller }, policy, this.#ports);
    this.#open.add(pacer);
    this.#cutOff.delete(keyOf(pacer));
    return pacer;
  }

  /**
   * A row for each that is open, and for each session that was closed for its lists and has no successor yet.
   *
   * @param only those of these plugins (`type/name`); absent: all
   */
  *views(only?: ReadonlySet<string>): Generator<LimitView> {
    const nowMs = this.#ports.clock.mono();
    for (const [key, { atMs }] of this.#cutOff) if (nowMs - atMs > CUT_OFF_SHOWN_MS) this.#cutOff.delete(key);
    for (const pacer of this.#open) {
      const { type, name } = pacer.session;
      if (only?.has(`${type}/${name}`) !== false) yield updatesView(pacer);
    }
    for (const { view } of this.#cutOff.values()) if (only?.has(view.plugin) !== false) yield view;
  }

  /** Goes on under another policy. */
  reload(policy: PolicySource): void {
    for (const pacer of this.#open) {
      const { type, name, socket } = pacer.session;
      pacer.reload(policy.policyFor(type, name, socket));
    }
  }

  /** Closes all. */
  close(): void {
    for (const pacer of [...this.#open]) pacer.close();
  }

  #closed(pacer: UpdatePacer): void {
    if (!this.#open.delete(pacer) || !pacer.isCutOff) return;
    if (this.#cutOff.size >= MOST_CUT_OFF) makeRoom(this.#cutOff, () => true);
    const view: LimitView = { ...updatesView(pacer), slowing: 'disconnected' };
    this.#cutOff.set(keyOf(pacer), { view, atMs: this.#ports.clock.mono() });
  }
}

function keyOf({ session: { type, name, uid } }: UpdatePacer): string {
  return JSON.stringify([type, name, uid]);
}
