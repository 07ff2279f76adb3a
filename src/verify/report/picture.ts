// The picture of one scenario: each socket and state on one axis of time. Everything is said by attributes, so that it can be
// read where a server forbids style and script.
import type { RecordOf } from '../record.js';
import { escaped } from './html-text.js';
import type { ScenarioStory } from './runs.js';

const WIDTH = 900;
const LEFT = 110;
const RIGHT = 20;
const ROW = 22;
const TOP = 24;
const STEP_HEIGHT = 40;

const INK = '#24292f';
const QUIET = '#57606a';
const GOOD = '#1a7f37';
const BAD = '#cf222e';
const BLUE = '#0969da';
const DOWN = '#fff1e5';

/** Lanes from top to bottom, with their names. */
const LANES: readonly (readonly [RecordOf<'span'>['lane'], string, string])[] = [
  ['broker', 'registry', BLUE],
  ['plugin', 'plugin', GOOD],
  ['second', 'second instance', '#8250df'],
  ['socket', 'its socket', QUIET],
  ['stream', 'list stream', '#9a6700'],
  ['kubelet-sock', 'kubelet.sock', QUIET],
];

/** Something that was there from one moment to another. */
interface Bar {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  /** Empty while it goes on. */
  readonly how: string;
  readonly isOver: boolean;
}

/** Draws it. @param id makes ids of the picture unique within the page */
export function picture(story: ScenarioStory, id: string): string {
  const endsAt = Math.max(1, story.verdict?.t ?? 0, ...story.lines.map((line) => ('t' in line ? line.t : 0)));
  const x = (t: number): string => (LEFT + (t / endsAt) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const rows = LANES.map(([lane, name, colour]) => ({ name, colour, bars: barsOf(story, lane, endsAt) })).filter(
    ({ bars }) => bars.length > 0,
  );
  const calls = story.lines.filter((line) => line.kind === 'call');
  const devices = story.lines.filter((line) => line.kind === 'devices');
  const broker = barsOf(story, 'broker', endsAt);
  const callsTop = TOP + rows.length * ROW;
  const stepTop = callsTop + (calls.length > 0 ? ROW : 0);
  const bottom = stepTop + (devices.length > 0 ? STEP_HEIGHT + 8 : 0);
  const parts = [
    `<rect x="0" y="0" width="${WIDTH}" height="${bottom + 30}" fill="#ffffff"/>`,
    ...gaps(broker, endsAt).map(
      ([from, to]) =>
        `<rect x="${x(from)}" y="${TOP - 6}" width="${width(x(from), x(to))}" height="${bottom - TOP + 6}" fill="${DOWN}"><title>no registry</title></rect>`,
    ),
    ...rows.flatMap(({ name, colour, bars }, index) => row(name, colour, bars, TOP + index * ROW, x)),
    ...(calls.length > 0 ? callRow(calls, callsTop, x) : []),
    ...(devices.length > 0 ? steps(devices, stepTop, endsAt, x) : []),
    ...decided(story, bottom, x),
    ...axis(endsAt, bottom, x),
  ];
  const label = `${story.name}: what was there when, from its begin to ${(endsAt / 1000).toFixed(1)} s; the same is told as text below`;
  return `<svg role="img" aria-labelledby="${id}" viewBox="0 0 ${WIDTH} ${bottom + 30}" width="100%" xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12"><title id="${id}">${escaped(label)}</title>${parts.join('')}</svg>`;
}

function barsOf({ lines }: ScenarioStory, lane: string, endsAt: number): readonly Bar[] {
  const open = new Map<string, number>();
  const bars: Bar[] = [];
  for (const line of lines) {
    if (line.kind !== 'span' || line.lane !== lane) continue;
    const from = open.get(line.id);
    if (line.is === 'up') open.set(line.id, from ?? line.t);
    else {
      open.delete(line.id);
      if (from !== undefined) bars.push({ id: line.id, from, to: line.t, how: line.how, isOver: true });
    }
  }
  for (const [id, from] of open) bars.push({ id, from, to: endsAt, how: '', isOver: false });
  return bars.sort((a, b) => a.from - b.from);
}

/** Times in which nothing of a lane was there. */
function gaps(bars: readonly Bar[], endsAt: number): readonly (readonly [number, number])[] {
  const found: [number, number][] = [];
  let at = 0;
  for (const { from, to } of bars) {
    if (from > at) found.push([at, from]);
    at = Math.max(at, to);
  }
  if (bars.length > 0 && at < endsAt) found.push([at, endsAt]);
  return found;
}

function row(name: string, colour: string, bars: readonly Bar[], y: number, x: (t: number) => string): string[] {
  return [
    `<text x="4" y="${y + 12}" fill="${INK}">${escaped(name)}</text>`,
    ...bars.map(({ id, from, to, how, isOver }) => {
      const what = `${name} ${id}, ${from} to ${to} ms${how === '' ? '' : `, ended ${how}`}`;
      const cross = /SIGKILL|with code [1-9]|SIGSEGV|SIGABRT/.test(how)
        ? `<text x="${x(to)}" y="${y + 13}" fill="${BAD}" font-size="14">×</text>`
        : '';
      const end = isOver ? '' : ' stroke-dasharray="4 2"';
      return `<rect x="${x(from)}" y="${y}" width="${width(x(from), x(to))}" height="14" fill="${colour}" fill-opacity="0.35" stroke="${colour}"${end}><title>${escaped(what)}</title></rect>${cross}`;
    }),
  ];
}

function callRow(calls: readonly RecordOf<'call'>[], y: number, x: (t: number) => string): string[] {
  return [
    `<text x="4" y="${y + 12}" fill="${INK}">registrations</text>`,
    ...calls.map(({ t, fate, resource }) => {
      const colour = fate === 'passed' ? GOOD : fate === 'held' ? QUIET : BAD;
      const fill = fate === 'held' ? '#ffffff' : colour;
      return `<circle cx="${x(t)}" cy="${y + 8}" r="4" fill="${fill}" stroke="${colour}"><title>${escaped(`${resource} at ${t} ms: ${fate}`)}</title></circle>`;
    }),
  ];
}

/** Allocatable devices of all resources together, as a line of steps; red where there were none. */
function steps(devices: readonly RecordOf<'devices'>[], y: number, endsAt: number, x: (t: number) => string): string[] {
  const now = new Map<string, number>();
  const sums = devices.map(({ t, resource, allocatable }) => {
    now.set(resource, allocatable);
    return { t, sum: [...now.values()].reduce((sum, one) => sum + one, 0) };
  });
  const most = Math.max(1, ...sums.map(({ sum }) => sum));
  const height = (sum: number): string => (y + STEP_HEIGHT - (sum / most) * (STEP_HEIGHT - 4)).toFixed(1);
  return [
    `<text x="4" y="${y + 12}" fill="${INK}">allocatable</text>`,
    `<text x="4" y="${y + 26}" fill="${QUIET}">0 to ${most}</text>`,
    ...sums.map(({ t, sum }, index) => {
      const to = sums[index + 1]?.t ?? endsAt;
      const rise = index === 0 ? '' : `M${x(t)} ${height(sums[index - 1]?.sum ?? 0)}V${height(sum)}`;
      const colour = sum === 0 ? BAD : GOOD;
      return `<path d="${rise}M${x(t)} ${height(sum)}H${x(to)}" fill="none" stroke="${colour}" stroke-width="2"><title>${sum} from ${t} ms</title></path>`;
    }),
  ];
}

function decided({ verdict }: ScenarioStory, bottom: number, x: (t: number) => string): string[] {
  if (verdict === undefined || verdict.verdict === 'skipped') return [];
  const colour = verdict.verdict === 'failed' ? BAD : GOOD;
  return verdict.at.map(
    (t) =>
      `<path d="M${x(t)} ${TOP - 8}V${bottom}" stroke="${colour}" stroke-width="1.5" stroke-dasharray="5 3"><title>${escaped(`decided at ${t} ms: ${verdict.evidence}`)}</title></path>`,
  );
}

/** Seconds, at most about ten of them. */
function axis(endsAt: number, bottom: number, x: (t: number) => string): string[] {
  const every =
    [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000].find((ms) => endsAt / ms <= 10) ??
    Math.max(120_000, endsAt / 10);
  const ticks: string[] = [`<path d="M${LEFT} ${bottom + 4}H${WIDTH - RIGHT}" stroke="${QUIET}"/>`];
  for (let t = 0; t <= endsAt; t += every) {
    ticks.push(
      `<path d="M${x(t)} ${bottom + 4}v4" stroke="${QUIET}"/><text x="${x(t)}" y="${bottom + 20}" fill="${QUIET}" text-anchor="middle">${t / 1000} s</text>`,
    );
  }
  return ticks;
}

function width(from: string, to: string): string {
  return Math.max(1.5, Number(to) - Number(from)).toFixed(1);
}
