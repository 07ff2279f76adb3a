// The consequences of a change of an instance: coming back to it, letting predecessors go, falling back to them; and for the
// listeners beside Lifecycle: its kept socket (Settling), its registration socket (RegistrySockets), its part in a restart
// (Restart), its grace (Graces). Pure: the listeners gather the facts and carry out the actions.
import { DEVICE_PLUGIN } from '../model/ids.js';
import { isConnected, isLive, isReplaced, ownerUid, type Change, type Instance } from '../model/instance.js';
import type { InstanceReport, PluginState } from '../model/plugin.js';
import type { Reason } from '../model/reasons.js';
import type { Action } from './actions.js';
import { isWorthPulling, waitMs } from './pull.js';

/** Predecessors of one plugin that are kept as fallback. */
const MAX_FALLBACKS = 2;
/** Incarnations of one plugin that are connected and have not delivered a list. */
const MAX_WAITING = 4;
/**
 * Incarnations of one plugin that are lost or in quarantine, beside the newest that has delivered a list: each keeps a descriptor
 * and a place in the checkpoint.
 */
const MAX_AWAY = 4;
/** While a lost plugin's socket still listens it is given this long to come back before its predecessor is asked. */
const FALLBACK_AFTER_MS = 2000;
/** A session that lasted this long has proved itself: coming back to it starts without a wait. */
const PROVEN_AFTER_MS = 10_000;

/** A driver is held without a clock while only its service is away: these losses start it where its socket is gone, too. */
const ENDS_DRIVERS = new Set<Reason>(['not-answering', 'connection-lost']);

/** The facts beside the instance. */
export interface Facts {
  /** Instances of its plugin, newest registration first, itself among them. */
  readonly siblings: readonly Instance[];
  /** Incarnations of its type serve side by side. */
  readonly coexist: boolean;
  /** Whether a process listens on its very endpoint. The kernel is asked only about lost instances; false for others. */
  readonly isListening: boolean;
  /** How long its last session has lasted; undefined: it has not been ready since it was lost before. */
  readonly servedForMs: number | undefined;
  /** Losses in a row without a session that proved itself. */
  readonly failures: number;
  /** `flood.updates.interval` of its policy. */
  readonly updateIntervalMs: number;
}

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
  if (isLost(instance)) return [...noted, ...lost(instance, { ...facts, failures })];
  switch (instance.state) {
    case 'quarantined':
      return [...noted, ...fallBack(facts.siblings, 0), ...surplusAway(facts)];
    case 'gone':
      return [...noted, ...over(instance, facts)];
    default:
      return noted;
  }
}

/** Whether an instance is lost and may come back: the consequences depend on whether a process still listens on its endpoint. */
export function isLost(instance: Instance): boolean {
  if (instance.state === 'restored') return instance.reason === 'settling';
  return instance.state === 'held' && !isReplaced(instance);
}

/** Whether only the session of an instance would tell that it is lost, or that it answers again: nobody comes back to it else. */
export function isWatched(instance: Instance): boolean {
  return isConnected(instance) || (instance.state === 'held' && instance.reason === 'not-answering');
}

/**
 * Whether the grace of an instance runs. A driver stays registered while its registration socket stands, even if its service does
 * not answer.
 *
 * @param isAtItsPath whether its very socket is at its path: asked only where that decides, because a look takes time
 */
export function hasGrace(instance: Instance, isAtItsPath: () => boolean): boolean {
  const { state, type, reason } = instance;
  if (state !== 'held' || isReplaced(instance)) return false;
  return type === DEVICE_PLUGIN || reason === 'socket-removed' || (ENDS_DRIVERS.has(reason) && !isAtItsPath());
}

/**
 * The instances to let go when one took over: its predecessors, only now (make before break), or itself if it is late. Where
 * incarnations serve side by side those of another user are let go, which had the name before.
 */
export function afterServing(
  instance: Instance,
  { siblings, coexist }: Pick<Facts, 'siblings' | 'coexist'>,
): readonly Instance[] {
  if (instance.state === 'connecting') return [];
  const rivals = coexist ? siblings.filter((one) => ownerUid(one) !== ownerUid(instance)) : siblings;
  const isLate = rivals.some((one) => one.seq > instance.seq && one.isServing && isConnected(one));
  if (isLate) return [instance];
  return rivals.filter(
    (one) => one !== instance && one.seq < instance.seq && isLive(one) && one.state !== 'connecting',
  );
}

/** Whether a replaced instance is kept as fallback if it listens: without its registration socket it cannot be asked any more. */
export function mayFallBackTo({ reason }: Instance): boolean {
  return reason !== 'socket-removed';
}

/** The report about a replaced instance. @param isKept it is kept as fallback, because it listens */
export function afterReplacement(isKept: boolean): InstanceReport {
  const message = isKept ? 'a newer incarnation took over; kept as fallback' : 'a newer incarnation took over';
  return { state: isKept ? 'held' : 'gone', reason: 'replaced', message };
}

/** Fallbacks of one plugin that are too many. @param fallbacks newest registration first */
export function surplusFallbacks(fallbacks: readonly Instance[]): readonly Instance[] {
  return fallbacks.slice(MAX_FALLBACKS);
}

/** Whether nobody speaks for a plugin, so that a predecessor has to. */
export function needsFallback(siblings: readonly Instance[]): boolean {
  return !siblings.some((one) => isLive(one) && isConnected(one));
}

/** One action of Settling: the clock of a plugin whose socket was removed, and that socket. */
export type AwayAction = 'start-clock' | 'stop-clock' | 'put-back' | 'discard';

/**
 * The consequences of a change for a plugin to which the broker gave a reason to register afresh. A plugin whose socket was
 * removed gets a clock. Once it is away no more its kept socket is put back, or discarded when another instance replaced it.
 */
export function afterAway({
  before,
  reasonBefore,
  to: { state, reason },
}: Pick<Change, 'before' | 'reasonBefore' | 'to'>): AwayAction[] {
  if (reason === 'recycled' && state === 'ready') return ['start-clock'];
  const isOver = state === 'gone' || state === 'rejected' || reason === 'replaced';
  const stopped: AwayAction[] = isOver ? ['stop-clock'] : [];
  // An earlier life of the broker may have removed the socket of one of the checkpoint, and was killed.
  const wasAway = reasonBefore === 'recycled' || reasonBefore === 'settling' || before === 'restored';
  if (!wasAway || reason === 'settling') return stopped;
  return [...stopped, reason === 'replaced' ? 'discard' : 'put-back'];
}

/** Whether the plugin behind a registration socket that is there is asked again: it was given up, because its process hangs. */
export function isAskedAgain({ door, state, reason }: Instance): boolean {
  return door === 'watcher' && state === 'gone' && reason === 'grace-over';
}

/** The fate of an instance of the checkpoint after a restart, as a change decides it; undefined: it is still waited for. */
export function fateAtRestart({ state, reason }: InstanceReport): 'confirmed' | 'settling' | 'lost' | undefined {
  if (reason === 'settling') return 'settling';
  if (state === 'restored') return undefined;
  return state === 'ready' || reason === 'replaced' ? 'confirmed' : 'lost';
}

function provenAnew(instance: Instance, { servedForMs }: Facts): boolean {
  return !isConnected(instance) && servedForMs !== undefined && servedForMs >= PROVEN_AFTER_MS;
}

function lost(instance: Instance, facts: Facts): Action[] {
  const { siblings, isListening, failures, updateIntervalMs } = facts;
  const actions: Action[] = [];
  // Its session watches no list, and must not say again that all is well.
  if (instance.reason === 'recycle-unanswered') actions.push({ do: 'end-session' });
  if (isListening && isWorthPulling(instance)) {
    actions.push({ do: 'note-lost', failures: failures + 1 });
    actions.push({ do: 'pull', delayMs: waitMs(instance, failures, updateIntervalMs) });
  }
  // Without its registration socket it does not come back, although its service may listen on, for another registrar.
  const mayComeBack = isListening && instance.reason !== 'socket-removed';
  return [...actions, ...fallBack(siblings, mayComeBack ? FALLBACK_AFTER_MS : 0), ...surplusAway(facts)];
}

/** Where incarnations serve side by side each has its registration socket, and as many as there may be of those are all needed. */
function surplusAway({ siblings, coexist }: Facts): Action[] {
  if (coexist) return [];
  const away = siblings.filter((one) => isLost(one) || one.state === 'quarantined');
  const serving = away.find((one) => one.isServing); // it has the list that counts
  return away
    .filter((one) => one !== serving)
    .slice(MAX_AWAY)
    .map((whom) => ({ do: 'retire', whom }));
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
