// The list that one resource tells the kubelet. Where that is not its plugin's own, the plugin's list has to be read, which may have
// 200,000 devices, and so may those that pods have: a long one is read in turns with everything else, once for each change of what it is made of, and one after
// the other: a plugin decides how often its state changes, and a user how many such plugins it has.
import { besideTrusted, TRUSTED, type FairRoom } from '../kernel/fair-room.js';
import type { FrontWire, ResourceNow } from './ports.js';
import type { Standing } from './standing.js';
import { beyondShare, compose, composeInTurns, NOTHING, type Told } from './told.js';

/** Bytes of a list that is read whenever it is needed: a quarter of a millisecond. */
const SHORT_BYTES = 16 * 1024;
/** A device that pods have is looked for, and may have to be added: it counts as so many bytes of a list. */
const HELD_BYTES = 40;

/** One long list at a time, and beside it one of ordinary users, who take turns. */
export const COMPOSING_TURNS = besideTrusted({ trusted: 1, other: 1, others: 1 });

/** The ports of the composer, of FrontedResource (front/fronted-resource). */
export interface ListComposerPorts {
  readonly resource: string;
  readonly wire: FrontWire;
  /** The turns of all resources, within COMPOSING_TURNS: Front (front/front). */
  readonly composing: FairRoom;
  /** A list that was not at hand is now: `of` is to be asked again. */
  readonly ready: () => void;
}

/** All that a list is made of. */
interface Facts {
  readonly now: ResourceNow;
  readonly told: 'reported' | 'unhealthy';
  readonly held: readonly string[];
  readonly user: number | undefined;
}

/** Composes the lists of one resource. */
export class ListComposer {
  readonly #ports: ListComposerPorts;
  /** The newest list that was read, while such lists are told. */
  #newest: { readonly facts: Facts; readonly list: Told } | undefined;
  #isAtWork = false;

  constructor(ports: ListComposerPorts) {
    this.#ports = ports;
  }

  /**
   * The list for the present facts; the one before where it is not at hand, and its successor is told of by `ready`.
   *
   * @param held see `Held` (front/told)
   * @param user the ordinary user whose plugin speaks for the resource; undefined: it is root's, or the broker's own user's
   * @returns undefined when nothing is to be told; `later` when no list is at hand
   */
  of(
    now: ResourceNow | undefined,
    { told }: Pick<Standing, 'told'>,
    held: readonly string[],
    user: number | undefined,
  ): Told | 'later' | undefined {
    const { resource, wire } = this.#ports;
    const besides = { held, shared: user === undefined ? undefined : resource };
    const isRead = told === 'unhealthy' || (told === 'reported' && (held.length > 0 || user !== undefined));
    if (now === undefined || !isRead) {
      this.#newest = undefined;
      return compose(now, { told }, besides, wire);
    }
    const beyond = beyondShare(now, besides);
    if (beyond !== undefined) return beyond;
    const facts = { now, told, held, user };
    if (this.#newest !== undefined && isSame(this.#newest.facts, facts)) return this.#newest.list;
    if (now.list.length + held.length * HELD_BYTES <= SHORT_BYTES) {
      this.#newest = { facts, list: ifReadable(() => compose(now, { told }, besides, wire)) };
      return this.#newest.list;
    }
    if (!this.#isAtWork) void this.#work(facts);
    return this.#newest === undefined ? 'later' : this.#newest.list;
  }

  async #work(facts: Facts): Promise<void> {
    const { now, told, held, user } = facts;
    const { resource, wire, composing, ready } = this.#ports;
    this.#isAtWork = true;
    const leave = await composing.take(user ?? TRUSTED);
    const besides = { held, shared: user === undefined ? undefined : resource };
    const list = await composeInTurns(now, { told }, besides, wire).catch(() => NOTHING); // as `ifReadable`
    this.#isAtWork = false;
    leave();
    this.#newest = { facts, list };
    ready();
  }
}

/** A list of the checkpoint that this version reads otherwise is none. */
function ifReadable(composed: () => Told | undefined): Told {
  try {
    return composed() ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** Whether the same list is made of both. */
function isSame(one: Facts, other: Facts): boolean {
  return (
    one.now.list === other.now.list &&
    one.told === other.told &&
    one.user === other.user &&
    (one.held === other.held ||
      (one.held.length === other.held.length && one.held.every((id, nth) => id === other.held[nth])))
  );
}
