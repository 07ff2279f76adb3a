// Which registrations wait for each other. Each attempt may take as long as its plugin takes to answer, so an ordinary user has one
// place in the line for a name, and leaves it when one that may take the name comes: everybody may register a name that nobody has
// yet, and all of them would stand before its owner.
import { KeyedLane } from '../kernel/keyed-lane.js';
import { Until } from '../kernel/until.js';
import { pluginKey, strangerUser, type UserFacts } from '../model/ids.js';
import type { PluginHandler, RegistrationRequest } from '../model/plugin.js';
import { Refused } from '../model/reasons.js';
import type { Admitted } from '../model/registration.js';

/** When it is worth asking again after the line was another's, milliseconds. */
const ASK_AGAIN_MS = 1000;

/** The members of a registration by which the others that it waits for are chosen. */
export interface InLine {
  readonly request: Pick<RegistrationRequest, 'type' | 'name'>;
  readonly verdict: Pick<Admitted, 'caller' | 'listener' | 'policy'>;
  readonly handler: Pick<PluginHandler, 'serialBy'>;
  /** The id of the instance. */
  readonly id: string;
}

/** The one registration of an ordinary user in the line of a plugin. */
interface Place {
  readonly end: AbortController;
  /** A rule gives its uid the right to the name, as root has it. */
  readonly isEntitled: boolean;
}

/** Runs registrations one after the other, by plugin or by incarnation as their handler says. */
export class RegistrationLane {
  readonly #lane = new KeyedLane();
  readonly #users: UserFacts;
  /** The registrations of ordinary users that run or wait, by plugin and user. */
  readonly #places = new Map<string, Map<number, Place>>();

  constructor(users: UserFacts) {
    this.#users = users;
  }

  /**
   * Runs `task` when its turn has come.
   *
   * @param task takes the signal that ends it: `signal`, and for an ordinary user's also that root, the broker's user or a uid that
   *   a rule names (`rules[].uids`) registers under that name
   * @param signal aborted before the turn has come: the task is not run at all
   * @throws what the task throws, the signal's reason, and Refused (BUSY) where another socket of the same ordinary user is in the
   *   line for the same plugin, or one that may take the name has come
   */
  run<T>(entering: InLine, task: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { handler, id } = entering;
    if (handler.serialBy === 'plugin') return this.#byPlugin(entering, task, signal);
    return this.#lane.run(id, () => task(signal), signal);
  }

  async #byPlugin<T>(
    { request, verdict }: InLine,
    task: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const key = pluginKey(request);
    const { uid } = verdict.caller ?? verdict.listener;
    const stranger = strangerUser(uid, this.#users);
    const isEntitled = stranger === undefined || verdict.policy.uids?.includes(uid) === true;
    if (isEntitled) this.#clear(key, request.name);
    if (stranger === undefined) return this.#lane.run(key, () => task(signal), signal);
    const place = this.#enter(key, stranger, isEntitled);
    if (place === undefined) {
      throw busy(`${request.name}: another socket of uid ${String(uid)} is being registered under that name`);
    }
    try {
      return await new Until(place.end.signal).or(signal, (until) => this.#lane.run(key, () => task(until), until));
    } finally {
      this.#leave(key, stranger, place);
    }
  }

  /** Ends the attempts of users that have no right to the name: one that has waits for no answer of theirs. */
  #clear(key: string, name: string): void {
    const reason = busy(`${name}: a plugin of a user that may take that name is being registered under it`);
    for (const [stranger, place] of this.#places.get(key) ?? []) {
      if (place.isEntitled) continue;
      place.end.abort(reason);
      this.#leave(key, stranger, place);
    }
  }

  /** Takes the place of a user; undefined where the user has it already. */
  #enter(key: string, stranger: number, isEntitled: boolean): Place | undefined {
    const places = this.#places.get(key) ?? new Map<number, Place>();
    if (places.has(stranger)) return undefined;
    const place = { end: new AbortController(), isEntitled };
    this.#places.set(key, places.set(stranger, place));
    return place;
  }

  /** Gives a place back, if it was not cleared. */
  #leave(key: string, stranger: number, place: Place): void {
    const places = this.#places.get(key);
    if (places?.get(stranger) !== place) return;
    places.delete(stranger);
    if (places.size === 0) this.#places.delete(key);
  }
}

function busy(message: string): Refused {
  return new Refused({ code: 'BUSY', message, retryAfterMs: ASK_AGAIN_MS });
}
