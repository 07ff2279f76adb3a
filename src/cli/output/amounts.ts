// Times and sizes for people.

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** A length of time in its two largest units: 45s, 3m12s, 2d4h; below a second 350ms. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  const first = UNITS.findIndex((unit) => ms >= unit.ms);
  const [large, small] = [UNITS[first], UNITS[first + 1]];
  if (large === undefined) return '0s';
  const count = Math.floor(ms / large.ms);
  const rest = small === undefined ? 0 : Math.floor((ms % large.ms) / small.ms);
  return small === undefined || rest === 0 ? `${count}${large.name}` : `${count}${large.name}${rest}${small.name}`;
}

/** How long ago an RFC 3339 time was, `-` for an empty one. A clock that was set back gives 0ms, not a negative age. */
export function ago(time: string, now: number): string {
  const then = Date.parse(time);
  return Number.isNaN(then) ? '-' : duration(now - then);
}

/** How far away an RFC 3339 time is, `-` for an empty or past one. */
export function until(time: string, now: number): string {
  const then = Date.parse(time);
  return Number.isNaN(then) || then <= now ? '-' : duration(then - now);
}

/** A size in bytes, kB or MB. */
export function bytes(size: number): string {
  if (size < 0) return '-';
  if (size < 1_000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1_000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

/** A number of a view, `-` where it is not known (-1). */
export function known(value: number): string | number {
  return value < 0 ? '-' : value;
}
