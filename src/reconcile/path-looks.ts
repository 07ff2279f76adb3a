// Looks at known instances, those whose name changed or all, a few in each turn of the loop. The owner of a socket determines how
// long a look takes (directories on the way, a fallback that is connected to), so users take turns.
import type { Alarm, Clock } from '../kernel/clock.js';
import { Looks } from '../kernel/looks.js';
import type { UserFacts } from '../model/ids.js';
import type { NamesMove } from '../model/plugin.js';
import { strangerUserOf, type Instance } from '../model/instance.js';
import type { Roster } from './roster.js';

/** The instances of root and of the broker's own user, which wait for nobody's where nobody else may move their sockets. */
const TRUSTED = 'trusted';

/** The ports of the looks. */
export interface PathLookPorts extends UserFacts {
  readonly clock: Clock;
  readonly roster: Pick<Roster, 'all' | 'get'>;
  readonly namesMove: NamesMove;
}

/**
 * The user in whose share a change at the path of an instance counts. Root and the broker's user are one where others may move
 * their sockets, and so cause the change.
 *
 * @returns undefined: it counts in no share
 */
export function payerOf(
  instance: Instance | undefined,
  ports: UserFacts & { readonly namesMove: NamesMove },
): number | undefined {
  if (instance === undefined) return undefined;
  return strangerUserOf(instance, ports) ?? (ports.namesMove(instance.door) ? ports.ownUid : undefined);
}

/** Looks at instances. */
export class PathLooks {
  readonly #ports: PathLookPorts;
  /** Calls the look below for each id. */
  readonly #looks: Looks;
  /** Instances that are looked at when the alarm rings. */
  readonly #postponed = new Set<string>();
  #later: Alarm | undefined;

  /** @param look Lifecycle (reconcile/lifecycle) looks at one instance, and says in how many milliseconds it may; 0: it has */
  constructor(ports: PathLookPorts, look: (instance: Instance) => number) {
    const { clock, roster } = ports;
    this.#ports = ports;
    this.#looks = new Looks({
      clock,
      look: (id) => {
        const instance = roster.get(id);
        const waitMs = instance === undefined ? 0 : look(instance);
        if (waitMs > 0) this.#postpone(id, waitMs);
      },
      groupOf: (id) => payerOf(roster.get(id), ports)?.toString() ?? TRUSTED,
      first: TRUSTED,
    });
  }

  /**
   * Begins to look, and looks at as many as there is time for before it returns.
   *
   * @param names that changed in a directory of sockets: those at or below one are looked at; undefined: all are
   */
  begin(names: ReadonlySet<string> | undefined): void {
    if (names?.size === 0) return;
    for (const instance of [...this.#ports.roster.all()]) {
      if (names === undefined || instance.socketPath.split('/').some((part) => names.has(part)))
        this.#looks.at(instance.id);
    }
  }

  /** Forgets waiting looks. */
  stop(): void {
    this.#later?.cancel();
    this.#postponed.clear();
    this.#looks.stop();
  }

  #postpone(id: string, waitMs: number): void {
    this.#postponed.add(id);
    this.#later ??= this.#ports.clock.alarm(waitMs, () => {
      const ids = [...this.#postponed];
      this.#postponed.clear();
      this.#later = undefined;
      for (const one of ids) this.#looks.at(one);
    });
  }
}
