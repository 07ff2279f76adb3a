// How exceeding a limit becomes strikes, and strikes a quarantine. Pure; all times are milliseconds of one
// monotonic clock, so that no step of the wall clock lengthens or shortens anything.
import type { FloodMode, PenaltySettings } from '../model/settings.js';

/** The record of one plugin and uid. */
export interface Penalty {
  /** When a limit was exceeded last: the first time in a window is no strike. */
  readonly exceededAtMs: number | undefined;
  /** When the strikes were, oldest first; never more than bring a quarantine. */
  readonly strikesAtMs: readonly number[];
  /** When the running quarantine ends. */
  readonly quarantinedUntilMs: number | undefined;
  /** Quarantines in a row; each is `factor` times longer than the one before. */
  readonly served: number;
  /** When the last of them ended. */
  readonly endedAtMs: number | undefined;
}

/** The record of one that never exceeded anything. */
export const CLEAN: Penalty = {
  exceededAtMs: undefined,
  strikesAtMs: [],
  quarantinedUntilMs: undefined,
  served: 0,
  endedAtMs: undefined,
};

/** The result of exceeding a limit. */
export interface Exceeding {
  readonly penalty: Penalty;
  readonly isStrike: boolean;
  /** Length of the quarantine that begins now, or would begin if the mode were `enforce`; undefined: none. */
  readonly quarantineMs: number | undefined;
}

/**
 * Counts one exceeding that was delayed, refused or disconnected, or would have been in mode `enforce`. Inside a quarantine
 * nothing counts: a plugin that keeps calling does not stay out longer for it.
 */
export function exceed(before: Penalty, nowMs: number, settings: PenaltySettings, mode: FloodMode): Exceeding {
  const penalty = settle(before, nowMs, settings);
  if (penalty.quarantinedUntilMs !== undefined) return { penalty, isStrike: false, quarantineMs: undefined };
  if (settings.strikes === 0) return { penalty: CLEAN, isStrike: false, quarantineMs: undefined };
  const isStrike = penalty.exceededAtMs !== undefined;
  const strikesAtMs = isStrike ? [...penalty.strikesAtMs, nowMs].slice(-settings.strikes) : penalty.strikesAtMs;
  const counted = { ...penalty, exceededAtMs: nowMs, strikesAtMs };
  if (!isStrike || strikesAtMs.length < settings.strikes)
    return { penalty: counted, isStrike, quarantineMs: undefined };
  const quarantineMs = lengthMs(penalty.served, settings);
  if (mode === 'observe') return { penalty: { ...counted, strikesAtMs: [] }, isStrike, quarantineMs };
  const quarantined: Penalty = {
    ...CLEAN,
    quarantinedUntilMs: nowMs + quarantineMs,
    served: penalty.served + 1,
  };
  return { penalty: quarantined, isStrike, quarantineMs };
}

/**
 * The present state of a record: strikes leave with the window, a quarantine ends, and a plugin that has stayed out of quarantine
 * for as long as the longest would last begins with the shortest again.
 */
export function settle(penalty: Penalty, nowMs: number, settings: PenaltySettings): Penalty {
  if (penalty === CLEAN || settings.strikes === 0) return CLEAN;
  const { quarantinedUntilMs } = penalty;
  if (quarantinedUntilMs !== undefined && quarantinedUntilMs > nowMs) return penalty;
  const endedAtMs = quarantinedUntilMs ?? penalty.endedAtMs;
  const isForgiven = endedAtMs === undefined || nowMs - endedAtMs >= settings.maxMs;
  const strikesAtMs = penalty.strikesAtMs.filter((atMs) => nowMs - atMs < settings.windowMs);
  const isRecent = penalty.exceededAtMs !== undefined && nowMs - penalty.exceededAtMs < settings.windowMs;
  if (isForgiven && !isRecent && strikesAtMs.length === 0) return CLEAN;
  const isAsBefore =
    quarantinedUntilMs === undefined &&
    strikesAtMs.length === penalty.strikesAtMs.length &&
    isRecent === (penalty.exceededAtMs !== undefined) &&
    isForgiven === (penalty.endedAtMs === undefined);
  // The same object as long as its contents are equal: texts made of it stay valid until then.
  if (isAsBefore) return penalty;
  return {
    exceededAtMs: isRecent ? penalty.exceededAtMs : undefined,
    strikesAtMs,
    quarantinedUntilMs: undefined,
    served: isForgiven ? 0 : penalty.served,
    endedAtMs: isForgiven ? undefined : endedAtMs,
  };
}

/** Milliseconds until the running quarantine ends; 0 without one. */
export function quarantineLeftMs(penalty: Penalty, nowMs: number): number {
  return Math.max(0, (penalty.quarantinedUntilMs ?? nowMs) - nowMs);
}

function lengthMs(served: number, { quarantineMs, factor, maxMs }: PenaltySettings): number {
  return Math.min(maxMs, quarantineMs * factor ** served);
}
