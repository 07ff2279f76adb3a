// Resources with their devices, and leases.
import type { DevicePage, LeaseRow, ResourceRow } from '../model/page-views.js';
import { drawSteps, emptySteps } from './bar.js';
import { fill, foreign, h } from './dom.js';
import { meter, named, section, state, ticking } from './parts.js';
import type { Store } from './store.js';
import { Table } from './table.js';
import { byText, first } from './words.js';

const PAGE = 200;

/** The section of resources. */
export class Resources {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly table: Table<ResourceRow>;
  readonly #none = h('p', { class: 'quiet', hidden: true }, 'No resource yet: a device plugin brings them.');

  constructor(store: Store) {
    this.#store = store;
    this.table = new Table<ResourceRow>({
      caption: 'Resources, those first of which something cannot be given out',
      keyOf: (row) => row.key,
      nameOf: ({ name }) => named(name),
      detail: (row, into) => void devices(row.name, 0, into),
      drawn: (row, element) => this.#line(row, element),
      columns: [
        { title: 'Name', cell: () => '' },
        {
          title: 'Can be given out',
          class: 'nowrap',
          cell: ({ name, allocatable, capacity }) => [
            h('span', { class: 'figures' }, `${String(allocatable)} / ${String(capacity)}`),
            meter(allocatable, capacity, `devices of ${name} that can be given out`),
          ],
        },
        { title: 'In use', class: 'num', cell: ({ allocated }) => allocated },
        { title: 'Last 15 min', class: 'bar', cell: emptySteps },
        { title: 'State', cell: ({ state: word }) => state(word) },
        {
          title: 'For',
          class: 'wide',
          cell: ({ consumer, front }) => (front.state === 'off' ? consumer : `${consumer} (${front.state})`),
        },
      ],
    });
    this.element = section('resources', 'Resources', this.table.element, this.#none);
  }

  /** Shows all of them. */
  show(): void {
    const lack = ({ allocatable, capacity }: ResourceRow): number => (allocatable === capacity ? 1 : 0);
    const rows = [...this.#store.resources.values()].sort((a, b) => first(lack(a) - lack(b), byText(a.name, b.name)));
    this.#none.hidden = rows.length > 0;
    this.table.element.hidden = rows.length === 0;
    this.table.show(rows);
  }

  /** Moves time on. */
  drawLines(): void {
    for (const [row, element] of this.table.shown()) this.#line(row, element);
  }

  #line({ name }: ResourceRow, element: Element): void {
    const svg = element.querySelector('svg');
    if (svg !== null) drawSteps(svg, this.#store.steps.get(name) ?? [], this.#store.now());
  }
}

/** Devices of a resource, a page of them. */
async function devices(name: string, from: number, into: HTMLElement): Promise<void> {
  try {
    const answer = await fetch(
      `api/v1/resources/${encodeURIComponent(name)}?from=${String(from)}&limit=${String(PAGE)}`,
    );
    if (!answer.ok) throw new Error(await answer.text());
    const { total, devices: page } = (await answer.json()) as DevicePage;
    const items = page.map(({ id, health, numaNodes, lease }) =>
      h(
        'li',
        { class: health === 'Healthy' ? 'fit' : 'unfit' },
        foreign(id),
        health !== 'Healthy' && h('b', {}, ' ', foreign(health)),
        numaNodes.length > 0 && h('span', { class: 'quiet' }, ` NUMA ${numaNodes.join(', ')}`),
        lease !== '' && h('span', { class: 'quiet' }, ' in use'),
      ),
    );
    const turn = (label: string, to: number): HTMLElement =>
      h('button', { type: 'button', onclick: () => void devices(name, to, into) }, label);
    const last = from + page.length;
    fill(
      into,
      h(
        'p',
        { class: 'quiet' },
        `${String(from + 1)} to ${String(last)} of ${String(total)}, those first that cannot be given out`,
      ),
      h('ul', { class: 'devices' }, ...items),
      from > 0 && turn('Back', Math.max(0, from - PAGE)),
      last < total && turn('Further', last),
    );
  } catch (failure) {
    fill(into, h('p', {}, failure instanceof Error ? failure.message : 'no answer'));
  }
}

/** The section of leases. */
export class Leases {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly table = new Table<LeaseRow>({
    caption: 'Leases: plugin-broker allocations names the owners',
    keyOf: ({ key }) => key,
    nameOf: ({ key }) => h('code', {}, key),
    columns: [
      { title: 'Lease', cell: () => '' },
      {
        title: 'State',
        cell: ({ state: word, reason }) =>
          h('span', { class: `state l-${word}` }, reason === '' ? word : `${word}, ${reason}`),
      },
      { title: 'Bound to a', cell: ({ owner }) => owner },
      {
        title: 'Devices',
        cell: ({ devices: given }) =>
          foreign(given.map(({ resource, count }) => `${String(count)} × ${resource}`).join(', ')),
      },
      { title: 'Since', class: 'wide', cell: ({ since }) => ticking('since', since) },
      { title: 'Ends in', class: 'wide', cell: ({ expires }) => (expires === '' ? '–' : ticking('until', expires)) },
    ],
  });

  constructor(store: Store) {
    this.#store = store;
    this.element = section('leases', 'Leases', this.table.element);
  }

  /** Shows all of them; nothing where there are none. */
  show(): void {
    const rows = [...this.#store.leases.values()].sort((a, b) => (a.key < b.key ? 1 : -1));
    this.element.hidden = rows.length === 0;
    this.table.show(rows);
  }
}
