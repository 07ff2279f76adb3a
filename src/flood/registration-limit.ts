// The treatment of a registration that finds no permit (onExceed).
import type { FloodMode, RegisterLimit } from '../model/settings.js';
import type { Bucket } from './bucket.js';
import { ONE_TAKER, type Waiting } from './fair-turns.js';
import type { Limiter } from './limiter.js';
import type { FloodVerdict } from '../model/flood.js';
import { figures, seconds } from './sentences.js';

/**
 * One of the limits on registrations, as it applies to a caller: `ownLimit` here, the others of SharedRegistrations
 * (flood/shared-registrations).
 */
export interface RegistrationLimit {
  readonly limit: 'register' | 'global.register';
  readonly code: 'FLOOD_REGISTER' | 'FLOOD_GLOBAL';
  /** An exceeding is counted for the views. */
  readonly noted: () => void;
  readonly limiter: Limiter;
  /** Lets the caller wait for its turn: `FairTurns.join` (flood/fair-turns) of this limit; undefined as there. */
  readonly join: (longestMs: number) => Waiting | undefined;
  readonly settings: RegisterLimit;
  readonly mode: FloodMode;
  /** `DevicePlugin vendor.com/gpu registers`, `all plugins together register`. */
  readonly doing: string;
  /** `flood` or `rules[2].flood`; `their share of flood`. */
  readonly source: string;
}

/** The limit of a plugin and the uid that calls for it. */
export function ownLimit(bucket: Bucket): RegistrationLimit {
  return {
    limit: 'register',
    code: 'FLOOD_REGISTER',
    limiter: bucket.limiter,
    join: (longestMs) => bucket.turns.join(ONE_TAKER, longestMs),
    noted: () => (bucket.exceeded += 1),
    settings: bucket.policy.register,
    mode: bucket.policy.mode,
    doing: bucket.kind === 'plugin' ? `${bucket.who} registers` : `${bucket.who} register`,
    source: bucket.source,
  };
}

/** The action taken: the word of metrics and views. */
export type ExceedAction = 'observe' | 'delay' | 'reject' | 'disconnect';

/** The answer to an exceeding. */
export interface Exceeded {
  readonly verdict: FloodVerdict;
  readonly action: ExceedAction;
  /** The cause, in words, and the action; without a trailing period. */
  readonly message: string;
}

/**
 * Decides about a registration that found no permit. A delayed one stands in the line of its limit from now on.
 *
 * @param who the plugin or plugins that the registration is of, for limits of many
 * @param isCalled somebody waits for an answer; otherwise the broker came by itself, and each action means to wait
 */
export function exceeded(asked: RegistrationLimit, who: string, isCalled: boolean): Exceeded {
  const { settings, mode } = asked;
  const whose = asked.limit === 'register' ? '' : `${who}: `;
  const why = `${whose}${asked.doing} more often than ${asked.source}.${asked.limit} allows (${figures(settings)})`;
  if (mode === 'observe') {
    return {
      verdict: { kind: 'pass' },
      action: 'observe',
      message: `${why}; it may pass, because the mode is observe`,
    };
  }
  const longestMs = isCalled ? settings.maxDelayMs : Number.POSITIVE_INFINITY;
  const waiting = isCalled && settings.onExceed !== 'delay' ? undefined : asked.join(longestMs);
  if (waiting === undefined) return refused(asked, why);
  const wait = async (signal: AbortSignal): Promise<FloodVerdict> =>
    (await waiting.come(signal)) ? { kind: 'pass' } : refused(asked, why).verdict;
  return {
    verdict: { kind: 'delay', delayMs: waiting.expectedMs, wait },
    action: 'delay',
    message: `${why}; it is held for ${seconds(waiting.expectedMs)}`,
  };
}

function refused({ limiter, settings, code }: RegistrationLimit, why: string): Exceeded {
  const retryAfterMs = Math.max(1, limiter.nextInMs());
  const message = `${why}; try again in ${seconds(retryAfterMs)}`;
  const refusal = { code, message, retryAfterMs };
  return settings.onExceed === 'disconnect'
    ? { verdict: { kind: 'refuse', refusal: { ...refusal, disconnect: true } }, action: 'disconnect', message }
    : { verdict: { kind: 'refuse', refusal }, action: 'reject', message };
}
