// Values as Go's flag package reads them, so that manifests written for the original keep their meaning. Pure.

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
/** The longest duration Go can hold, 2^63-1 nanoseconds. */
const LONGEST_MS = 9_223_372_036_854.775;

/** `1s`, `500ms`, `1m30s`, `-2h`, a bare `0`. @returns milliseconds, or undefined where it is no duration */
export function parseGoDuration(text: string): number | undefined {
  const [, sign = '', rest = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  if (rest === '0') return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)[a-zµμ]+)+$/.test(rest)) return undefined;
  let total = 0;
  for (const [, number = '', unit = ''] of rest.matchAll(/(\d+\.?\d*|\.\d+)([a-zµμ]+)/g)) {
    const factor = UNIT_MS.get(unit);
    if (factor === undefined) return undefined;
    total += Number(number) * factor;
  }
  if (total > LONGEST_MS) return undefined;
  return sign === '-' ? -total : total;
}

/** A duration as Go writes it, for help texts. */
export function formatGoDuration(ms: number): string {
  if (ms === 0) return '0s';
  return ms < 1000 ? `${ms}ms` : `${ms / 1000}s`;
}

/** Decimal, 0x, 0o, 0b or a leading 0 for octal, with underscores between digits. */
export function parseGoInt(text: string): number | undefined {
  const [, sign = '', digits = ''] = /^([-+]?)(\w+)$/.exec(text) ?? [];
  if (/__|_$|^_/.test(digits) || (/_/.test(digits) && !/^0/.test(digits))) return undefined;
  const plain = digits.replaceAll('_', '').toLowerCase();
  const isNumber = /^(?:0x[0-9a-f]+|0o?[0-7]+|0b[01]+|0|[1-9]\d*)$/.test(plain);
  if (!isNumber) return undefined;
  const value = Number(/^0[0-7]+$/.test(plain) ? `0o${plain.slice(1)}` : plain);
  if (!Number.isSafeInteger(value)) return undefined;
  return sign === '-' && value !== 0 ? -value : value;
}

/** Exactly the words that Go takes. */
export function parseGoBool(text: string): boolean | undefined {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  return undefined;
}
