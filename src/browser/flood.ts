// The flood policy at work: permits of each bucket that is not full, or was used up once.
import { drawSeen, emptySteps } from './bar.js';
import { foreign, h, say, type Child } from './dom.js';
import { section, ticking } from './parts.js';
import type { SeenLimit, Store } from './store.js';
import { Table } from './table.js';
import { byText, counted, first, lasting } from './words.js';

/** More permits than these are a number and no pips. */
const MOST_PIPS = 10;

/** The section of limits. */
export class Flood {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly #rest = h('p', { class: 'quiet' });
  readonly table: Table<SeenLimit>;

  constructor(store: Store) {
    this.#store = store;
    this.table = new Table<SeenLimit>({
      caption: 'Limits that were used; the line shows permits as this page saw them',
      keyOf: ({ key }) => key,
      nameOf: ({ limit }) => limit,
      columns: [
        { title: 'Limit', cell: () => '' },
        {
          title: 'Plugin',
          cell: ({ plugin }) => (plugin === '' ? 'everybody' : foreign(plugin.slice(plugin.indexOf('/') + 1))),
        },
        { title: 'Permits', class: 'nowrap', cell: (row) => this.#permits(row) },
        { title: 'Seen', class: 'seen wide', cell: emptySteps },
        { title: 'Strikes', class: 'num', cell: ({ strikes }) => strikes },
        { title: 'Now', cell: nowOf },
        { title: 'uid', class: 'num wide', cell: ({ uid }) => (uid < 0 ? '–' : uid) },
        {
          title: 'Set by',
          class: 'wide',
          cell: ({ source, mode }) => (mode === 'observe' ? `${source} (observe)` : source),
        },
      ],
      drawn: ({ key, burst }, element) => {
        const svg = element.querySelector('svg');
        if (svg !== null) drawSeen(svg, store.permits.get(key) ?? [], burst);
      },
    });
    this.element = section('flood', 'Flood', this.table.element, this.#rest);
  }

  /** Shows the limits that matter. */
  show(): void {
    const all = [...this.#store.limits.values()];
    const used = all.filter(
      ({ permits, burst, strikes, quarantinedUntil, exceeded, slowing }) =>
        permits < burst || strikes > 0 || exceeded > 0 || quarantinedUntil !== '' || slowing !== '',
    );
    const weight = ({ quarantinedUntil, slowing, strikes }: SeenLimit): number =>
      (quarantinedUntil === '' ? 0 : 1e6) + (slowing === '' ? 0 : 1e4) + strikes;
    used.sort((a, b) => first(weight(b) - weight(a), byText(a.key, b.key)));
    this.table.element.hidden = used.length === 0;
    this.table.show(used);
    const rest = all.length - used.length;
    say(
      this.#rest,
      used.length === 0
        ? `No limit is in use: all ${counted(rest, 'limit')} have all their permits.`
        : `${counted(rest, 'more limit')} with all permits.`,
    );
  }

  #permits({ permits, burst, nextInMs, intervalMs }: SeenLimit): readonly Child[] {
    const text = `${String(permits)} of ${String(burst)}`;
    const pips =
      burst <= MOST_PIPS &&
      h(
        'span',
        { class: 'pips', 'aria-hidden': 'true' },
        '●'.repeat(permits) + '○'.repeat(Math.max(0, burst - permits)),
      );
    const next =
      permits < burst
        ? `one each ${lasting(intervalMs)}${permits === 0 && nextInMs > 0 ? `, next in ${lasting(nextInMs)}` : ''}`
        : '';
    return [
      pips,
      h('span', { class: pips === false ? 'figures' : 'quiet' }, ` ${text}`),
      next !== '' && h('span', { class: 'meaning' }, next),
    ];
  }
}

function nowOf({ slowing, quarantinedUntil, mode, exceeded }: SeenLimit): Child {
  if (quarantinedUntil !== '')
    return h('span', { class: 'state s-quarantined' }, 'kept out, ', ticking('until', quarantinedUntil));
  if (slowing !== '') return h('span', { class: 'state s-held' }, mode === 'observe' ? 'would be held' : slowing);
  return exceeded > 0 ? h('span', { class: 'quiet' }, `exceeded ${String(exceeded)} times`) : '';
}
