// Durations and sizes as they are written, and the one walk that turns a written section into settings.
import { LONGEST_ALARM_MS } from '../kernel/clock.js';
import { durationMs as anyDurationMs } from '../kernel/duration.js';
import type { Written } from './file-form.js';
import type { ConfigProblem, KeyPath } from './problem.js';

/** The configuration has whole numbers and no days. */
const DURATION = /^[0-9]+(ms|s|m|h)$/;
const SIZE = /^([0-9]+)(KiB|MiB|GiB)$/;
const BYTES: ReadonlyMap<string, number> = new Map([
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
]);

/** Milliseconds of `250ms`, `2s`, `5m` or `1h`; undefined for any other text. */
export function durationMs(text: string): number | undefined {
  return DURATION.test(text) ? anyDurationMs(text) : undefined;
}

/** Bytes of a number or of `64KiB`, `16MiB`, `1GiB`; undefined for any other text. */
export function sizeBytes(size: number | string): number | undefined {
  if (typeof size === 'number') return size;
  const [, digits, unit] = SIZE.exec(size) ?? [];
  return digits === undefined ? undefined : Number(digits) * (BYTES.get(unit ?? '') ?? 1);
}

/**
 * Turns a written section into settings: durations into `…Ms`, sizes into bytes, the rest as it is. Only for sections
 * without free text.
 *
 * @param path where the section stands in the file
 * @param problems collects durations that no timer can hold
 */
export function resolveSection<T extends object>(written: Written<T>, path: KeyPath, problems: ConfigProblem[]): T {
  const entries = Object.entries(written as Record<string, unknown>).map(([key, value]): [string, unknown] => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return [key, resolveSection(value, [...path, key], problems)];
    }
    if (key.includes('Bytes')) return [key, sizeBytes(value as number | string)];
    const ms = typeof value === 'string' ? durationMs(value) : undefined;
    if (ms === undefined) return [key, value];
    if (ms > LONGEST_ALARM_MS) {
      problems.push({
        path: [...path, key],
        message: `${String(value)} is longer than a timer can hold`,
        remedy: 'write at most 596h',
      });
    }
    return [`${key}Ms`, ms];
  });
  return Object.freeze(Object.fromEntries(entries)) as T;
}
