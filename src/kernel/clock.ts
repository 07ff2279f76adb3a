// Time as a port: everything that waits or measures takes a Clock, so that policy is tested without waiting.

/** A running timer. Cancelling twice, or after it rang, does nothing. */
export interface Alarm {
  cancel(): void;
}

/**
 * The two times a daemon needs: one for people, one for differences. They must never be mixed. `systemClock`
 * (platform/time/system-clock) has them.
 */
export interface Clock {
  /** Milliseconds since the epoch, for records and messages. Steps when the machine's clock is set. */
  wall(): number;
  /** Milliseconds on a scale that only grows, for every difference, deadline and rate. */
  mono(): number;
  /** Calls `ring` once after `delayMs` (clamped to the range of a timer). Does not keep the process alive. */
  alarm(delayMs: number, ring: () => void): Alarm;
}

/** A moment on disk: milliseconds since the machine started, which nobody sets, and since the epoch, for another boot. */
export interface Stamp {
  readonly bootMs: number;
  readonly wallMs: number;
}

/** The longest delay a Node timer can hold; longer ones would fire at once. */
export const LONGEST_ALARM_MS = 2 ** 31 - 1;

/** A delay as a timer of Node can hold it: one that is longer is cut, a negative one is 0. */
export function timerMs(delayMs: number): number {
  return Math.min(Math.max(0, delayMs), LONGEST_ALARM_MS);
}

/**
 * Resolves after `delayMs`, or rejects with the signal's reason as soon as it aborts.
 */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(asError(signal.reason));
      return;
    }
    const onAbort = (): void => {
      alarm.cancel();
      reject(asError(signal?.reason));
    };
    const alarm = clock.alarm(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Runs `work` with a signal that aborts after `limitMs` or together with `outer`.
 *
 * @param onTime builds the error that the signal carries when time ran out
 * @returns the result of `work`; its rejection is passed on
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  onTime: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const onOuter = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) onOuter();
  else outer?.addEventListener('abort', onOuter, { once: true });
  const alarm = clock.alarm(limitMs, () => controller.abort(onTime()));
  try {
    return await abortable(work(controller.signal), controller.signal);
  } finally {
    alarm.cancel();
    outer?.removeEventListener('abort', onOuter);
  }
}

/**
 * Follows `work`, but rejects with the signal's reason as soon as it aborts. A result that arrives later is dropped;
 * a later rejection is not reported as unhandled.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(asError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Turns a thrown value or an abort reason into an Error. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return typeof thrown === 'string' ? new Error(thrown) : new Error('aborted', { cause: thrown });
}
