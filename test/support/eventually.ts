import { setTimeout as pause } from 'node:timers/promises';

/** How long to wait, in milliseconds, and how often to look. */
export interface Patience {
  /** Default 20,000. Generous, because it is only ever spent by a test that fails. */
  readonly withinMs?: number;
  /** Default 5. */
  readonly everyMs?: number;
}

/**
 * Waits until `look` gives something else than false or undefined without throwing, and returns it.
 *
 * @param what named in the error when it never happens, together with the last error of `look`
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  { withinMs = 20_000, everyMs = 5 }: Patience = {},
): Promise<Exclude<T, false | undefined>> {
  const until = performance.now() + withinMs;
  for (;;) {
    let last: unknown;
    try {
      const seen = await look();
      if (seen !== false && seen !== undefined) return seen as Exclude<T, false | undefined>;
    } catch (thrown) {
      last = thrown;
    }
    if (performance.now() > until) {
      throw new Error(`not within ${String(withinMs)} ms: ${what}`, last === undefined ? undefined : { cause: last });
    }
    await pause(everyMs);
  }
}
