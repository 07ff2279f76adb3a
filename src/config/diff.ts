// The changes of a reload, in the words of the file.
import { pathText } from './problem.js';
import { durationMs, sizeBytes } from './units.js';

/** One setting that differs: `flood.register.burst: 5 → 8`. */
export interface Change {
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

/** How a change is shown to an operator. */
export function changeText(change: Change): string {
  return `${change.key}: ${change.before} → ${change.after}`;
}

/** Every leaf that differs between two forms, in the order of the file. A value written differently is no change. */
export function diffForms(before: object, after: object): readonly Change[] {
  const [old, next] = [leaves(before), leaves(after)];
  const keys = new Set([...old.keys(), ...next.keys()]);
  return (
    [...keys]
      .filter((key) => !isSame(old.get(key), next.get(key)))
      // An empty list that had, or gets, items: these are told one by one.
      .filter((key) => ![...keys].some((other) => other.startsWith(`${key}[`)))
      .map((key) => ({ key, before: shown(old.get(key)), after: shown(next.get(key)) }))
  );
}

function leaves(
  value: unknown,
  path: readonly (string | number)[] = [],
  into = new Map<string, unknown>(),
): Map<string, unknown> {
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    for (const [index, item] of value.entries()) leaves(item, [...path, index], into);
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [key, item] of Object.entries(value)) leaves(item, [...path, key], into);
  } else if (value !== undefined) {
    into.set(pathText(path), value);
  }
  return into;
}

function isSame(a: unknown, b: unknown): boolean {
  return (
    JSON.stringify(a) === JSON.stringify(b) || (a !== undefined && b !== undefined && comparable(a) === comparable(b))
  );
}

/** `2s` and `2000ms` are the same setting; so are 1024 and `1KiB`. */
function comparable(value: unknown): unknown {
  if (typeof value !== 'string') return typeof value === 'number' ? value : JSON.stringify(value);
  const ms = durationMs(value);
  return ms === undefined ? (sizeBytes(value) ?? value) : `${ms}ms`;
}

function shown(value: unknown): string {
  if (value === undefined) return '(not set)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
