// The status page: puts the parts together, shows news at most twice a second, and listens to keys.
import { patterns } from './bar.js';
import { h } from './dom.js';
import { Events, Starts } from './events.js';
import { Flood } from './flood.js';
import { Link } from './link.js';
import { tick } from './parts.js';
import { Plugins } from './plugins.js';
import { Leases, Resources } from './resources.js';
import { Store } from './store.js';
import { Bar, Needs, Tiles } from './summary.js';

/** Pictures at most this often, milliseconds. */
const SHOW_MS = 500;
/** The parts below the screen are drawn when nobody has typed for this long, milliseconds. */
const QUIET_MS = 250;
const TICK_MS = 1000;
/** Time moves on in bars. */
const BARS_MS = 5000;
const KEYS = [
  ['/', 'go to the filter of plugins'],
  ['j, k', 'next and previous plugin'],
  ['Enter', 'open the focused row'],
  ['p', 'pause, go on'],
  ['?', 'these keys'],
] as const;

const store = new Store();
/** The next picture, when the last one was, and when somebody typed last. */
const pace = { timer: undefined as ReturnType<typeof setTimeout> | undefined, shownAt: 0, typedAt: 0 };
const soon = (): void => {
  pace.timer ??= setTimeout(show, Math.max(0, pace.shownAt + SHOW_MS - Date.now()));
};
const link = new Link(store, soon);
const help = h(
  'dialog',
  { 'aria-label': 'Keys' },
  h('h2', {}, 'Keys'),
  h('dl', {}, ...KEYS.flatMap(([key, what]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)])),
  h('form', { method: 'dialog' }, h('button', {}, 'Close')),
);
const bar = new Bar(pause, () => help.showModal());
const needs = new Needs();
const tiles = new Tiles();
const plugins = new Plugins(store, () => plugins.show());
const resources = new Resources(store);
const leases = new Leases(store);
const flood = new Flood(store);
const events = new Events(store);
const starts = new Starts(store);

const below = [resources, leases, flood, events, starts];
const showBelow = (): void => below.forEach((part) => part.show());
/** The parts not drawn yet: each in a turn of its own, so that the first plugins can be used before the last row is there. */
const undrawn = [plugins, ...below].map((part) => () => {
  part.show();
  part.table.fillUp();
});

function show(): void {
  pace.timer = undefined;
  bar.show(store, link);
  if (store.head === undefined) return;
  // The first picture is waited for; those after it keep their distance.
  pace.shownAt = Date.now();
  for (const part of [needs, tiles]) part.show(store);
  plugins.show();
  if (undrawn.length === 0) showBelow();
  else if (!document.body.classList.contains('drawing')) {
    pace.typedAt = Date.now();
    drawNext();
  }
  tick(document, store.now());
}

/** Draws the remaining parts, while nobody types. */
function drawNext(): void {
  document.body.classList.add('drawing');
  const quietAt = pace.typedAt + QUIET_MS;
  setTimeout(
    () => {
      if (pace.typedAt + QUIET_MS <= quietAt) undrawn.shift()?.();
      if (undrawn.length > 0) drawNext();
      else {
        // With the news that came meanwhile.
        showBelow();
        document.body.classList.replace('drawing', 'ready');
      }
      tick(document, store.now());
    },
    Math.max(0, quietAt - Date.now()),
  );
}

function pause(): void {
  link.pause(link.mode !== 'paused');
}

function onKey(event: KeyboardEvent): void {
  pace.typedAt = Date.now();
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (target.matches('input, select')) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  const act = ACTS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
}

function step(by: number): void {
  const { buttons } = plugins.table;
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  buttons[Math.max(0, Math.min(buttons.length - 1, at + by))]?.focus();
}

const ACTS: Readonly<Record<string, () => void>> = {
  '/': () => plugins.filter.focus(),
  j: () => step(1),
  k: () => step(-1),
  p: pause,
  '?': () => help.showModal(),
};

document.body.append(
  h('a', { class: 'skip', href: '#plugins' }, 'To the plugins'),
  patterns(),
  bar.element,
  h('main', {}, needs.element, tiles.element, ...[plugins, ...below].map(({ element }) => element)),
  needs.live,
  help,
);
document.addEventListener('keydown', onKey);
setInterval(() => {
  if (document.hidden || link.mode === 'paused') return;
  tick(document, store.now());
  bar.show(store, link);
}, TICK_MS);
setInterval(() => {
  if (document.hidden || link.mode === 'paused' || link.mode === 'lost') return;
  plugins.drawBars();
  resources.drawLines();
}, BARS_MS);
show();
link.open();
