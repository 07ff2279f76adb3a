// Which registrations wait for each other. Each attempt may take as long as its plugin takes to answer, so an ordinary user has one
// place in the line for a name: everybody may register a name that nobody has yet, and all of them would stand before its owner.
import { KeyedLane } from '../kernel/keyed-lane.js';
import { pluginKey, strangerUser, type UserFacts } from '../model/ids.js';
import type { PluginHandler, RegistrationRequest } from '../model/plugin.js';
import { Refused } from '../model/reasons.js';
import type { Admitted } from '../model/registration.js';

/** When it is worth asking again after another socket of the same user was in the line, milliseconds. */
const ASK_AGAIN_MS = 1000;

/** The members of a registration by which the others that it waits for are chosen. */
export interface InLine {
  readonly request: Pick<RegistrationRequest, 'type' | 'name'>;
  readonly verdict: Pick<Admitted, 'caller' | 'listener'>;
  readonly handler: Pick<PluginHandler, 'serialBy'>;
  /** The id of the instance. */
  readonly id: string;
}

/** Runs registrations one after the other, by plugin or by incarnation as their handler says. */
export class RegistrationLane {
  readonly #lane = new KeyedLane();
  readonly #users: UserFacts;
  /** The ordinary users with a registration that runs or waits, by plugin. */
  readonly #strangers = new Map<string, Set<number>>();

  constructor(users: UserFacts) {
    this.#users = users;
  }

  /**
   * Runs `task` when its turn has come.
   *
   * @param signal aborted before the turn has come: the task is not run at all
   * @throws what the task throws, the signal's reason, and Refused (BUSY) where another socket of the same ordinary user is in the
   *   line for the same plugin
   */
  run<T>(entering: InLine, task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { handler, id } = entering;
    return handler.serialBy === 'plugin' ? this.#byPlugin(entering, task, signal) : this.#lane.run(id, task, signal);
  }

  async #byPlugin<T>({ request, verdict }: InLine, task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = pluginKey(request);
    const { uid } = verdict.caller ?? verdict.listener;
    const leave = this.#enter(key, strangerUser(uid, this.#users));
    if (leave === undefined) {
      const message = `${request.name}: another socket of uid ${String(uid)} is being registered under that name`;
      throw new Refused({ code: 'BUSY', message, retryAfterMs: ASK_AGAIN_MS });
    }
    try {
      return await this.#lane.run(key, task, signal);
    } finally {
      leave();
    }
  }

  /** Takes the place of a user. @returns gives it back; undefined where the user has it already */
  #enter(key: string, stranger: number | undefined): (() => void) | undefined {
    if (stranger === undefined) return () => undefined;
    const strangers = this.#strangers.get(key) ?? new Set();
    if (strangers.has(stranger)) return undefined;
    this.#strangers.set(key, strangers.add(stranger));
    return () => {
      strangers.delete(stranger);
      if (strangers.size === 0) this.#strangers.delete(key);
    };
  }
}
