// Times, sizes and states in words. Pure.

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A length of time in its two largest units: `45 s`, `3 min 12 s`, `2 d 4 h`. */
export function lasting(ms: number): string {
  if (ms < 1000) return ms < 0 ? '0 s' : `${String(Math.round(ms))} ms`;
  const first = UNITS.findIndex(([, unit]) => ms >= unit);
  const large = UNITS[first];
  const small = UNITS[first + 1];
  if (large === undefined) return '0 s';
  const rest = small === undefined ? 0 : Math.floor((ms % large[1]) / small[1]);
  const most = `${String(Math.floor(ms / large[1]))} ${large[0]}`;
  return small === undefined || rest === 0 ? most : `${most} ${String(rest)} ${small[0]}`;
}

/** The time of the day here, with seconds; with the date where it is another day. */
export function clock(at: number, now: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${String(date.getFullYear())}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** A size in bytes. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${String(bytes)} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A count with its noun. */
export function counted(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** The first difference that counts, for sorting. */
export function first(...differences: readonly number[]): number {
  return differences.find((one) => one !== 0) ?? 0;
}

/** The order of texts. */
export function byText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** States, the worst first: the order of tables. */
export const STATES = ['rejected', 'quarantined', 'held', 'orphaned', 'restored', 'connecting', 'ready', 'gone'];

/** The explanation beside a state, for readers who do not know the word. */
export function meaning(state: string, until: string): string {
  const what = MEANINGS.get(state) ?? '';
  return until === '' || !ENDING.has(state) ? what : `${what} until ${until}`;
}

const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['restored', 'known, not yet confirmed'],
  ['connecting', 'being dialled'],
  ['held', 'lost, kept'],
  ['quarantined', 'kept out'],
  ['orphaned', 'its path belongs to another'],
  ['rejected', 'refused'],
]);
/** Those that end at a time. */
const ENDING: ReadonlySet<string> = new Set(['held', 'quarantined']);
