// Pictures of the last fifteen minutes: states as a bar, numbers as steps. Each has its sentence for those who do not see it.
import type { CapacityStep, PluginHistory, Start } from '../model/page-views.js';
import { s } from './dom.js';
import { SPAN_MS } from './store.js';
import { counted } from './words.js';

/** Patterns of states beside their colours, for readers who see no colours. */
const PATTERNS: Readonly<Partial<Record<string, string>>> = { held: 'hatch', quarantined: 'cross', rejected: 'cross' };

/** The patterns, once for the whole page. */
export function patterns(): SVGElement {
  const pattern = (id: string, path: string): SVGElement =>
    s('pattern', { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse' }, s('path', { d: path, class: 'pattern' }));
  const defs = s('defs', {}, pattern('hatch', 'M-1 7 7-1M-1 1 1-1M5 7 7 5'), pattern('cross', 'M0 0 6 6M6 0 0 6'));
  return s('svg', { width: 0, height: 0, 'aria-hidden': 'true', class: 'defs' }, defs);
}

/** Draws a bar into an svg: a rectangle for each state, a tick for each call, a dashed line for each start of the broker. */
export function drawBar(svg: Element, past: PluginHistory | undefined, starts: readonly Start[], now: number): void {
  const x = (at: number): number => Math.max(0, Math.min(100, ((at - now + SPAN_MS) / SPAN_MS) * 100));
  const spans = past?.spans ?? [];
  const drawn: SVGElement[] = [];
  spans.forEach(([from, state], nth) => {
    const [left, right] = [x(from), x(spans[nth + 1]?.[0] ?? now)];
    if (right <= 0) return;
    const place = { x: `${left.toFixed(2)}%`, width: `${Math.max(0.4, right - left).toFixed(2)}%`, y: 3, height: 12 };
    drawn.push(s('rect', { ...place, class: `span s-${state}` }));
    const pattern = PATTERNS[state];
    if (pattern !== undefined) drawn.push(s('rect', { ...place, fill: `url(#${pattern})` }));
  });
  for (const [at, code] of past?.calls ?? []) {
    if (at < now - SPAN_MS) continue;
    const where = `${x(at).toFixed(2)}%`;
    drawn.push(
      s('line', { x1: where, x2: where, y1: 0, y2: code === '' ? 5 : 9, class: code === '' ? 'call' : 'call no' }),
    );
  }
  const seen = starts.map(({ at }) => Date.parse(at)).filter((at) => at > now - SPAN_MS);
  for (const at of seen) {
    const where = `${x(at).toFixed(2)}%`;
    drawn.push(s('line', { x1: where, x2: where, y1: 0, y2: 18, class: 'start' }));
  }
  svg.replaceChildren(...drawn);
  svg.setAttribute('aria-label', sentence(past, seen.length, now));
}

function sentence(past: PluginHistory | undefined, starts: number, now: number): string {
  const states = (past?.spans ?? []).slice(-6).map(([, state]) => state);
  const recent = (past?.calls ?? []).filter(([at]) => at > now - SPAN_MS);
  const refused = recent.filter(([, code]) => code !== '').length;
  const parts = [
    states.length === 0 ? 'nothing is known' : states.join(', then '),
    recent.length > refused && counted(recent.length - refused, 'registration'),
    refused > 0 && counted(refused, 'refusal'),
    starts > 0 && counted(starts, 'start') + ' of the broker',
  ];
  return `last 15 minutes: ${parts.filter((part) => part !== false).join('; ')}`;
}

/** Where step lines are drawn. */
export function emptySteps(): SVGElement {
  return s('svg', { class: 'bar', role: 'img', height: 18, viewBox: '0 0 100 18', preserveAspectRatio: 'none' });
}

/** Draws capacity and allocatable as step lines. */
export function drawSteps(svg: Element, steps: readonly CapacityStep[], now: number): void {
  const most = Math.max(1, ...steps.map(([, capacity]) => capacity));
  const line = (pick: 1 | 2): string => {
    let path = '';
    for (const step of steps) {
      const x = Math.max(0, Math.min(100, ((step[0] - now + SPAN_MS) / SPAN_MS) * 100)).toFixed(2);
      const y = (17 - (step[pick] / most) * 15).toFixed(1);
      path += path === '' ? `M${x} ${y}` : `H${x}V${y}`;
    }
    return path === '' ? '' : `${path}H100`;
  };
  svg.replaceChildren(s('path', { d: line(1), class: 'step all' }), s('path', { d: line(2), class: 'step usable' }));
  const last = steps.at(-1);
  const changes = steps.length - 1;
  const now_ = last === undefined ? 'nothing' : `${String(last[2])} of ${String(last[1])} devices can be given out`;
  svg.setAttribute('aria-label', `last 15 minutes: ${counted(Math.max(0, changes), 'change')}; now ${now_}`);
}

/** Draws permits as this page saw them. */
export function drawSeen(svg: Element, seen: readonly (readonly [number, number])[], burst: number): void {
  const first = seen[0]?.[0] ?? 0;
  const length = Math.max(1, (seen.at(-1)?.[0] ?? 0) - first);
  const points = seen.map(([at, permits]) => [((at - first) / length) * 100, 17 - (permits / Math.max(1, burst)) * 15]);
  const path = points.map(([x = 0, y = 0], nth) =>
    nth === 0 ? `M${x.toFixed(1)} ${y.toFixed(1)}` : `H${x.toFixed(1)}V${y.toFixed(1)}`,
  );
  svg.replaceChildren(s('path', { d: path.join(''), class: 'step usable' }));
  svg.setAttribute('aria-label', `permits as this page saw them, ${counted(seen.length, 'time')}`);
}
