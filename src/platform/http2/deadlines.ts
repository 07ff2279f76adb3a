// The deadlines of a connection. Pure: the standing of a connection in, its next deadline out.
import type { ConnectionEndCode } from '../../model/connection-ends.js';
import type { GuardSettings } from '../../model/settings.js';

/** Where a connection stands; times in milliseconds on the monotonic scale, undefined where the thing is not so. */
export interface Standing {
  readonly acceptedAt: number;
  readonly hasBegun: boolean;
  readonly blockSince: number | undefined;
  readonly halfOpenSince: number | undefined;
  readonly idleSince: number | undefined;
  readonly starvedSince: number | undefined;
  readonly unreadSince: number | undefined;
  readonly halfClosedSince: number | undefined;
  /** Since when the peer has been asked to finish and go. */
  readonly retiringSince: number | undefined;
  /**
   * Since when we have not read the peer. Octets that have not come since then are not its fault; those that had not come before are,
   * or a peer that is held back again and again would have no deadline.
   */
  readonly heldSince: number | undefined;
}

/** A moment at which the connection is ended, and why. */
export interface Deadline {
  readonly at: number;
  readonly code: ConnectionEndCode;
  readonly message: string;
}

/** How long a peer that was asked to go may take to finish its calls: longer than any call of ours has. */
const RETIRE_MS = 30_000;

/** No deadline can begin and pass within less than this. */
export function shortestLimitMs(settings: GuardSettings): number {
  const { prefaceMs, headersMs, halfOpenMs, halfClosedMs, idleMs, unreadMs, ageMs } = settings;
  return Math.min(prefaceMs, headersMs, halfOpenMs, halfClosedMs, idleMs, unreadMs, ageMs);
}

/** The earliest deadline of a connection; always one, because every connection has an age. */
export function nextDeadline(standing: Standing, settings: GuardSettings): Deadline {
  const { acceptedAt, hasBegun, retiringSince, heldSince } = standing;
  let first = until(acceptedAt, settings.ageMs, 'TOO_OLD', 'the connection reached the age of');
  if (retiringSince !== undefined) first = until(retiringSince, RETIRE_MS, 'TOO_OLD', 'calls were not finished within');
  const consider = (since: number | undefined, limitMs: number, code: ConnectionEndCode, what: string): void => {
    if (since !== undefined && since + limitMs < first.at) first = until(since, limitMs, code, what);
  };
  consider(standing.unreadSince, settings.unreadMs, 'UNREAD_BYTES', 'the peer left its answers unread for');
  consider(standing.starvedSince, settings.unreadMs, 'WINDOW_GAME', 'the peer kept a flow-control window shut for');
  consider(
    standing.halfClosedSince,
    settings.halfClosedMs,
    'HALF_CLOSED',
    'one direction stayed open after the other for',
  );
  const expect: typeof consider = (since, limitMs, code, what) => {
    if (since !== undefined && since + limitMs < (heldSince ?? Infinity)) consider(since, limitMs, code, what);
  };
  if (!hasBegun) expect(acceptedAt, settings.prefaceMs, 'SLOW_PREFACE', 'the peer did not begin to speak HTTP/2 for');
  expect(standing.blockSince, settings.headersMs, 'SLOW_HEADERS', 'the peer did not finish a header block for');
  expect(standing.halfOpenSince, settings.halfOpenMs, 'HALF_OPEN_CALL', 'the peer did not complete a request for');
  if (retiringSince === undefined) expect(standing.idleSince, settings.idleMs, 'IDLE', 'no call was open for');
  return first;
}

function until(since: number, limitMs: number, code: ConnectionEndCode, what: string): Deadline {
  return { at: since + limitMs, code, message: `${what} ${limitMs / 1000} s` };
}
