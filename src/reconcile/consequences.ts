// The consequences of a change of an instance: coming back to it, letting predecessors go, falling back to them. Pure:
// `lifecycle.ts` gathers the facts and carries out the actions.
import { isConnected, isLive, isReplaced, type Instance } from '../model/instance.js';
import type { InstanceReport, PluginState } from '../model/plugin.js';
import { isWorthPulling } from './pull.js';

/** Predecessors of one plugin that are kept as fallback. */
export const MAX_FALLBACKS = 2;
/** Incarnations of one plugin that are connected and have not delivered a list. */
const MAX_WAITING = 4;
/** While a lost plugin's socket still listens it is given this long to come back before its predecessor is asked. */
const FALLBACK_AFTER_MS = 2000;
/** A session that lasted this long has proved itself: coming back to it starts without a wait. */
const PROVEN_AFTER_MS = 10_000;
/** After a session was closed for flooding, this many update intervals pass before it is opened again. */
const FLOOD_PAUSE_INTERVALS = 10;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;

/** The facts beside the instance. */
export interface Facts {
  /** Instances of its plugin, newest registration first, itself among them. */
  readonly siblings: readonly Instance[];
  /** Incarnations of its type serve side by side. */
  readonly coexist: boolean;
  /** Whether somebody listens on its very endpoint. Asked of the kernel, so only where it decides something. */
  readonly isListening: boolean;
  /** How long its last session has lasted; undefined: it has not been ready since it was lost before. */
  readonly servedForMs: number | undefined;
  /** Losses in a row without a session that proved itself. */
  readonly failures: number;
  /** `flood.updates.interval` of its policy. */
  readonly updateIntervalMs: number;
}

/** The actions to carry out. */
export type Action =
  | { readonly do: 'note-ready' }
  | { readonly do: 'note-lost'; readonly failures: number }
  /** Its session is closed; nothing is reported by it any more. */
  | { readonly do: 'end-session' }
  | { readonly do: 'drop-lists' }
  /** It came true by itself; a pull that runs has made it true, and ends by itself. */
  | { readonly do: 'cancel-sleeping-pull' }
  /** Nobody comes back to it. */
  | { readonly do: 'cancel-pull' }
  | { readonly do: 'pull'; readonly delayMs: number }
  /** A predecessor is asked, if nobody is connected by then. */
  | { readonly do: 'fall-back'; readonly to: Instance; readonly delayMs: number }
  /** It is replaced: kept as fallback while it listens. */
  | { readonly do: 'retire'; readonly whom: Instance };

/**
 * The consequences of a change.
 *
 * @param instance as it is now
 * @param before its state before the change
 */
export function afterChange(instance: Instance, before: PluginState | undefined, facts: Facts): Action[] {
  if (instance.state === 'ready') {
    const surplus = facts.coexist ? [] : facts.siblings.filter((one) => isConnected(one) && !one.isServing);
    return [
      ...(before === 'ready' ? [] : [{ do: 'note-ready' } as const]),
      { do: 'cancel-sleeping-pull' },
      // Newest wins once it has delivered its list; how many may be waited for at the same time is bounded.
      ...surplus.slice(MAX_WAITING).map((whom) => ({ do: 'retire', whom }) as const),
    ];
  }
  const failures = provenAnew(instance, facts) ? 0 : facts.failures;
  const noted: Action[] = isConnected(instance) ? [] : [{ do: 'note-lost', failures }];
  switch (instance.state) {
    case 'restored':
      return instance.reason === 'settling' ? [...noted, ...lost(instance, { ...seen(facts), failures })] : noted;
    case 'held':
      return isReplaced(instance) ? noted : [...noted, ...lost(instance, { ...seen(facts), failures })];
    case 'quarantined':
      return [...noted, ...fallBack(facts.siblings, 0)];
    case 'gone':
      return [...noted, ...over(instance, facts)];
    default:
      return noted;
  }
}

/** The consequences when an instance took over: its predecessors are let go only now (make before break). */
export function afterServing(instance: Instance, { siblings, coexist }: Pick<Facts, 'siblings' | 'coexist'>): Action[] {
  if (instance.state === 'connecting' || coexist) return [];
  const isLate = siblings.some((one) => one.seq > instance.seq && one.isServing && isConnected(one));
  if (isLate) return [{ do: 'retire', whom: instance }];
  return siblings
    .filter((one) => one !== instance && one.seq < instance.seq && isLive(one) && one.state !== 'connecting')
    .map((whom) => ({ do: 'retire', whom }));
}

/**
 * The reason while the socket of a connected plugin is not at its path: it goes on serving, and says so. A plugin of the watcher
 * door is `orphaned` until its newcomer was asked, whatever happens to the path meanwhile.
 *
 * @param key the incarnation at its path now; undefined: none
 * @returns undefined while the path is its own
 */
export function lostPath({ door, socketKey }: Instance, key: string | undefined): InstanceReport | undefined {
  if (key === socketKey) return undefined;
  if (key === undefined && door === 'register') {
    return { state: 'ready', reason: 'path-missing', message: 'its socket file vanished; it goes on serving' };
  }
  return { state: 'orphaned', reason: 'path-taken', message: 'its path now belongs to another socket' };
}

/**
 * The result of a look at the path of a connected plugin.
 *
 * @param key as for `lostPath`
 * @returns undefined: nothing new
 */
export function afterLook(instance: Instance, key: string | undefined): InstanceReport | undefined {
  const lost = lostPath(instance, key);
  if (lost !== undefined) return instance.reason === 'recycled' ? undefined : lost;
  if (instance.reason !== 'path-missing' && instance.reason !== 'path-taken') return undefined;
  return { state: 'ready', reason: 'registered', message: 'its socket is back in place' };
}

/** The first loss of a proven session is taken up at once; one that keeps ending waits longer and longer. */
export function waitMs({ reason }: Instance, failures: number, updateIntervalMs: number): number {
  const pause = reason === 'update-flood' ? FLOOD_PAUSE_INTERVALS * updateIntervalMs : 0;
  const growing = failures === 0 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 8));
  return Math.max(pause, growing);
}

/** Whether nobody speaks for a plugin, so that a predecessor has to. */
export function needsFallback(siblings: readonly Instance[]): boolean {
  return !siblings.some((one) => isLive(one) && isConnected(one));
}

function provenAnew(instance: Instance, { servedForMs }: Facts): boolean {
  return !isConnected(instance) && servedForMs !== undefined && servedForMs >= PROVEN_AFTER_MS;
}

/** The facts with the kernel asked once. */
function seen(facts: Facts): Facts {
  const { siblings, coexist, isListening, servedForMs, failures, updateIntervalMs } = facts;
  return { siblings, coexist, isListening, servedForMs, failures, updateIntervalMs };
}

function lost(instance: Instance, { siblings, isListening, failures, updateIntervalMs }: Facts): Action[] {
  const actions: Action[] = [];
  // Its session watches no list, and must not say again that all is well.
  if (instance.reason === 'recycle-unanswered') actions.push({ do: 'end-session' });
  if (isListening && isWorthPulling(instance)) {
    actions.push({ do: 'note-lost', failures: failures + 1 });
    actions.push({ do: 'pull', delayMs: waitMs(instance, failures, updateIntervalMs) });
  }
  // Without its registration socket it does not come back, although its service may listen on, for another registrar.
  const mayComeBack = isListening && instance.reason !== 'socket-removed';
  return [...actions, ...fallBack(siblings, mayComeBack ? FALLBACK_AFTER_MS : 0)];
}

function over({ reason }: Instance, { siblings }: Facts): Action[] {
  return [
    { do: 'end-session' },
    { do: 'drop-lists' },
    // One that hangs is looked at further.
    ...(reason === 'grace-over' ? [] : [{ do: 'cancel-pull' } as const]),
    ...(reason === 'replaced' ? [] : fallBack(siblings, 0)),
  ];
}

/** A predecessor that still listens is taken back when its successor is lost. */
function fallBack(siblings: readonly Instance[], delayMs: number): Action[] {
  const to = siblings.find(isReplaced);
  return to !== undefined && needsFallback(siblings) ? [{ do: 'fall-back', to, delayMs }] : [];
}
