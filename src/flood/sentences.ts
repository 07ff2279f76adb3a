// The words of the flood policy: which plugin, which limit with its figures, and how many seconds to wait.
import type { BucketSettings, PenaltySettings } from '../model/settings.js';

/** Seconds as people read them: 0.3 s, 2 s, 45 s; never less than is meant. */
export function seconds(ms: number): string {
  const tenths = Math.ceil(ms / 100);
  return tenths < 100 ? `${String(tenths / 10)} s` : `${String(Math.ceil(ms / 1_000))} s`;
}

/** `burst 5, then one each 2 s`. */
export function figures({ burst, intervalMs }: BucketSettings): string {
  const each = intervalMs < 1_000 ? `${String(intervalMs)} ms` : seconds(intervalMs);
  return `burst ${String(burst)}, then one each ${each}`;
}

/** The sentence for a caller in quarantine; `are` where many share it. */
export function quarantinedSentence(who: string, is: 'is' | 'are', leftMs: number): string {
  const they = is === 'is' ? 'it is' : 'they are';
  return `${who} ${is} in quarantine after too many strikes; ${they} let in again in ${seconds(leftMs)}`;
}

/** The beginning of a quarantine; `is` says whether it begins, or would if it were not only observed. */
export function quarantineBeganSentence(
  who: string,
  is: 'is' | 'are' | 'would be',
  { strikes, windowMs }: PenaltySettings,
  lengthMs: number,
): string {
  return `${who} ${is} kept out for ${seconds(lengthMs)} after ${String(strikes)} strikes within ${seconds(windowMs)}`;
}
