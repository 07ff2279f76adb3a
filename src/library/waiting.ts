// Waiting for a broker: looks at each change and now and then, until it is so, the time is over or somebody gives up.
import { asError } from '../kernel/clock.js';
import { BrokerError, type WaitOptions } from './broker-api.js';

/** A condition that no change reports, such as a later clock, is seen this much later. */
const LOOK_MS = 200;

/** One wait. */
export interface Wait<T> {
  /** Looks; undefined: not yet. Errors that say the broker does not run are not yet, too. */
  readonly look: () => Promise<T | undefined>;
  /** Calls back at each change; gives how to call it off. */
  readonly onChange: (look: () => void) => () => void;
  readonly isStopped: () => boolean;
  /** The error of a wait that was in vain. */
  readonly inVain: (code: 'TIMEOUT' | 'NOT_RUNNING') => Promise<Error>;
}

/** Waits. @throws the error of `inVain`, the signal's reason, or the error of a look */
export async function waitFor<T>(
  wait: Wait<T>,
  { timeoutMs, signal }: Required<Pick<WaitOptions, 'timeoutMs'>> & WaitOptions,
): Promise<T> {
  const endsAt = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const change = nextChange(wait, Math.min(LOOK_MS, Math.max(endsAt - performance.now(), 1)), signal);
    try {
      const found = await wait.look();
      if (found !== undefined) return found;
    } catch (thrown) {
      if (!(thrown instanceof BrokerError) || thrown.code !== 'NOT_RUNNING') throw asError(thrown);
    } finally {
      // It is over when it is awaited, or nobody waits for it.
      void change;
    }
    if (wait.isStopped()) throw await wait.inVain('NOT_RUNNING');
    if (performance.now() >= endsAt) throw await wait.inVain('TIMEOUT');
    await change;
  }
}

/** Begins to listen before the look, so that no change between is missed. */
function nextChange<T>({ onChange }: Wait<T>, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      callOff();
      signal?.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    const callOff = onChange(over);
    signal?.addEventListener('abort', over, { once: true });
  });
}
