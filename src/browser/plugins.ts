// Plugins with their past, and the details of one when its row is opened.
import type { PluginRow } from '../model/page-views.js';
import type { ExplainView } from '../model/views.js';
import { drawBar } from './bar.js';
import { fill, foreign, h, s, type Child } from './dom.js';
import { visible } from '../kernel/visible.js';
import { command, facts, named, section, state, ticking } from './parts.js';
import type { Store } from './store.js';
import { Table } from './table.js';
import { byText, clock, first, meaning, STATES } from './words.js';

/** The section of plugins. */
export class Plugins {
  readonly element: HTMLElement;
  readonly filter = h('input', {
    type: 'search',
    id: 'filter',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  readonly table: Table<PluginRow>;
  readonly #chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'states' });
  readonly #empty = h('div', { class: 'empty', hidden: true });
  readonly #tools: HTMLElement;
  readonly #store: Store;
  readonly #wanted = new Set<string>();
  readonly #bars = new WeakMap<Element, SVGElement>();
  #counts = '';

  constructor(store: Store, onFilter: () => void) {
    this.#store = store;
    this.filter.addEventListener('input', onFilter);
    this.#chips.addEventListener('click', ({ target }) => {
      const word = (target as Element).closest('button')?.dataset['state'];
      if (word === undefined) return;
      if (!this.#wanted.delete(word)) this.#wanted.add(word);
      this.#counts = '';
      onFilter();
    });
    this.table = new Table<PluginRow>({
      caption: 'Plugins, those first that need something',
      keyOf: (row) => row.key,
      nameOf: ({ name }) => named(name),
      detail: (row, into) => void this.#detail(row, into),
      drawn: (row, element) => {
        const svg = element.querySelector('svg');
        if (svg !== null) this.#bars.set(element, svg);
        this.#bar(row, element);
      },
      columns: [
        { title: 'Name', cell: ({ type }) => h('span', { class: 'quiet' }, foreign(type)) },
        { title: 'State', class: 'nowrap', cell: (row) => this.#state(row) },
        { title: 'Last 15 min', class: 'bar', cell: () => s('svg', { class: 'bar', role: 'img', height: 18 }) },
        {
          title: 'Registrations',
          class: 'num wide',
          cell: ({ counters }) => withRest(counters.registrations, counters.rejected, 'refused'),
        },
        {
          title: 'Lists',
          class: 'num wide',
          cell: ({ counters }) => withRest(counters.updates, counters.coalesced, 'merged'),
        },
        { title: 'Strikes', class: 'num wide', cell: ({ counters }) => counters.strikes },
        { title: 'uid : pid', class: 'num wide', cell: ({ uid, pid }) => `${known(uid)} : ${known(pid)}` },
        { title: 'Reason', class: 'wide', cell: ({ reason }) => h('span', { class: 'quiet' }, reason) },
      ],
    });
    const label = h('label', { for: 'filter' }, 'Filter by name, reason or uid');
    this.#tools = h('div', { class: 'tools' }, label, this.filter, this.#chips);
    this.element = section('plugins', 'Plugins', this.#tools, this.table.element, this.#empty);
  }

  /** Shows the plugins that are wanted. */
  show(): void {
    const { plugins, place } = this.#store;
    const rows = topRows(plugins.values());
    const counts = new Map<string, number>();
    for (const { state: word } of rows) counts.set(word, (counts.get(word) ?? 0) + 1);
    const text = JSON.stringify([...counts]);
    if (text !== this.#counts) {
      this.#counts = text;
      const chips = STATES.filter((word) => counts.has(word) || this.#wanted.has(word)).map((word) =>
        h(
          'button',
          { type: 'button', 'data-state': word, 'aria-pressed': String(this.#wanted.has(word)) },
          state(word),
          ` ${String(counts.get(word) ?? 0)}`,
        ),
      );
      const focused = (document.activeElement as HTMLElement | null)?.dataset['state'];
      fill(this.#chips, ...chips);
      chips.find((chip) => chip.dataset['state'] === focused)?.focus();
    }
    const needle = this.filter.value.trim().toLowerCase();
    const shown = rows.filter(
      (row) =>
        (this.#wanted.size === 0 || this.#wanted.has(row.state)) &&
        (needle === '' || `${row.type}/${row.name} ${row.reason} ${String(row.uid)}`.toLowerCase().includes(needle)),
    );
    const isEmpty = rows.length === 0;
    this.#tools.hidden = isEmpty;
    this.table.element.hidden = isEmpty;
    this.#empty.hidden = !isEmpty;
    if (isEmpty && place !== undefined && this.#empty.childElementCount === 0)
      fill(this.#empty, ...howTo(place.devicePlugins, place.registry));
    this.table.show(shown);
  }

  /** Moves time on in the bars that can be seen. */
  drawBars(): void {
    for (const [row, element] of this.table.shown()) this.#bar(row, element);
  }

  #bar({ type, name }: PluginRow, element: Element): void {
    const svg = this.#bars.get(element);
    if (svg !== undefined) drawBar(svg, this.#store.past.get(`${type}/${name}`), this.#store.starts, this.#store.now());
  }

  #state({ state: word, stateSince, keptUntil, quarantinedUntil }: PluginRow): readonly Child[] {
    const until = word === 'quarantined' ? quarantinedUntil : keptUntil;
    const now = this.#store.now();
    const about = meaning(word, until === '' ? '' : clock(Date.parse(until), now));
    const isAlso = word !== 'quarantined' && quarantinedUntil !== '';
    return [
      state(word),
      h('span', { class: 'quiet' }, ' ', ticking('since', stateSince)),
      (about !== '' || isAlso) &&
        h(
          'span',
          { class: 'meaning' },
          isAlso ? `registrations kept out until ${clock(Date.parse(quarantinedUntil), now)}` : about,
        ),
    ];
  }

  async #detail({ type, name }: PluginRow, into: HTMLElement): Promise<void> {
    const subject = `${type}/${name}`;
    try {
      const answer = await fetch(`api/v1/explain?subject=${encodeURIComponent(subject)}`);
      if (!answer.ok) throw new Error(await answer.text());
      fill(into, ...explained((await answer.json()) as ExplainView, this.#store.now()));
    } catch (failure) {
      if (into.childElementCount === 0)
        fill(into, h('p', {}, failure instanceof Error ? failure.message : 'no answer'));
    }
  }
}

/** One row for each plugin: the incarnation that counts, the worst first. */
function topRows(all: Iterable<PluginRow>): PluginRow[] {
  const top = new Map<string, PluginRow>();
  for (const row of all) {
    const key = `${row.type}/${row.name}`;
    if (row.primary || !top.has(key)) top.set(key, row);
  }
  const rank = ({ state: word }: PluginRow): number => (STATES.indexOf(word) + STATES.length + 1) % (STATES.length + 1);
  return [...top.values()].sort((a, b) => first(rank(a) - rank(b), byText(a.name, b.name)));
}

function explained({ why, remedy, plugins, events, subject }: ExplainView, now: number): Child[] {
  const incarnations = plugins.map(({ state: word, endpoint, socket, apiVersion, registeredAt, uid, pid, reason }) =>
    facts([
      ['State', h('span', {}, state(word), ` ${reason}`)],
      ['Socket', foreign(socket)],
      ['Endpoint', endpoint === socket ? '' : foreign(endpoint)],
      ['API', foreign(apiVersion)],
      ['Registered', registeredAt === '' ? '' : clock(Date.parse(registeredAt), now)],
      ['Process', `uid ${known(uid)}, pid ${known(pid)}`],
    ]),
  );
  const lines = [...events]
    .reverse()
    .map(({ time, type, reason, message }) =>
      h(
        'li',
        {},
        h('time', { datetime: time }, clock(Date.parse(time), now)),
        ` ${type} `,
        reason !== '' && h('code', {}, reason),
        ' ',
        foreign(message),
      ),
    );
  return [
    h('p', {}, foreign(why)),
    h('p', { class: 'do' }, foreign(remedy), command(`plugin-broker explain ${visible(subject)}`)),
    h('div', { class: 'incarnations' }, ...incarnations),
    h('h3', {}, `Its last ${String(lines.length)} events`),
    h('ol', { class: 'lines', tabindex: 0, 'aria-label': 'events' }, ...lines),
  ];
}

function howTo(directory: string, registry: string): Child[] {
  const usual = '/var/lib/kubelet/device-plugins';
  const way = (title: string, text: string): HTMLElement => h('li', {}, h('p', {}, title), command(text));
  return [
    h(
      'p',
      {},
      'No plugin yet. Plugins reach this broker at ',
      h('code', {}, directory),
      ', those of the watcher at ',
      h('code', {}, registry),
      '.',
    ),
    h(
      'ul',
      {},
      directory !== usual &&
        way('On a machine without a kubelet, in the configuration:', `paths: { devicePlugins: ${usual} }`),
      directory !== usual &&
        way('A plugin in a container, or beside a kubelet, with a mount:', `--volume ${directory}:${usual}`),
      way('No plugin at hand:', `plugin-broker sim device --dir ${directory}`),
    ),
  ];
}

function withRest(count: number, rest: number, word: string): string {
  return rest > 0 ? `${String(count)} (${String(rest)} ${word})` : String(count);
}

function known(number: number): string {
  return number < 0 ? '–' : String(number);
}
