// The events, and the starts of the broker.
import type { BrokerEvent } from '../model/event.js';
import type { Start } from '../model/page-views.js';
import { fill, foreign, h, type Child } from './dom.js';
import { section } from './parts.js';
import type { Store } from './store.js';
import { afterText } from './summary.js';
import { Table } from './table.js';
import { clock, lasting } from './words.js';

/** The section of events. */
export class Events {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly #type = h('select', { id: 'event-type' }, h('option', { value: '' }, 'all'));
  readonly #text = h('input', {
    type: 'search',
    id: 'event-text',
    autocomplete: 'off',
  });
  readonly table: Table<BrokerEvent>;
  #types = '';

  constructor(store: Store) {
    this.#store = store;
    const show = (): void => this.show();
    this.#type.addEventListener('change', show);
    this.#text.addEventListener('input', show);
    this.table = new Table<BrokerEvent>({
      caption: 'Events, newest first; the last 500 of them',
      keyOf: ({ seq }) => String(seq),
      nameOf: ({ time }) => h('time', { datetime: time }, clock(Date.parse(time), store.now())),
      columns: [
        { title: 'Time', class: 'nowrap', cell: () => '' },
        { title: 'Type', cell: ({ type }) => type },
        { title: 'Reason', cell: ({ reason }) => (reason === '' ? '' : reasonButton(reason)) },
        { title: 'What', class: 'what', cell: ({ message, plugin }) => [about(plugin, message), foreign(message)] },
      ],
    });
    const tools = h(
      'div',
      { class: 'tools' },
      h('label', { for: 'event-type' }, 'Type'),
      this.#type,
      h('label', { for: 'event-text' }, 'Filter by plugin, reason or words'),
      this.#text,
    );
    this.element = section('events', 'Events', tools, this.table.element);
  }

  /** Shows those that are wanted. */
  show(): void {
    const { events } = this.#store;
    const types = [...new Set(events.map(({ type }) => type))].sort();
    if (types.join() !== this.#types) {
      this.#types = types.join();
      const chosen = this.#type.value;
      fill(this.#type, h('option', { value: '' }, 'all'), ...types.map((type) => h('option', { value: type }, type)));
      this.#type.value = chosen;
    }
    const needle = this.#text.value.trim().toLowerCase();
    const wanted = events.filter(
      ({ type, plugin, reason, message }) =>
        (this.#type.value === '' || this.#type.value === type) &&
        (needle === '' || `${plugin} ${reason} ${message}`.toLowerCase().includes(needle)),
    );
    this.table.show(wanted);
  }
}

/** The subject of an event, where its words do not say it. */
function about(plugin: string, message: string): Child {
  const name = plugin.slice(plugin.indexOf('/') + 1);
  return name !== '' && !message.includes(name) && h('span', { class: 'whom' }, foreign(name), ' ');
}

/** A code that opens its line of the table of reasons. */
function reasonButton(code: string): HTMLElement {
  const about = h('span', { class: 'meaning', hidden: true });
  const open = async (button: Element): Promise<void> => {
    const isOpen = about.hasAttribute('hidden');
    about.toggleAttribute('hidden', !isOpen);
    button.setAttribute('aria-expanded', String(isOpen));
    if (!isOpen || about.childElementCount > 0) return;
    const answer = await fetch(`api/v1/reason?code=${encodeURIComponent(code)}`);
    const { about: what, remedy } = (await answer.json()) as { about: string; remedy: string };
    fill(about, h('span', {}, `${what} ${remedy}`));
  };
  const button = h(
    'button',
    {
      type: 'button',
      class: 'reason',
      'aria-expanded': 'false',
      onclick: ({ currentTarget }) => void open(currentTarget as Element),
    },
    code,
  );
  return h('span', {}, button, about);
}

/** The section of starts. */
export class Starts {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly table: Table<Start>;

  constructor(store: Store) {
    this.#store = store;
    this.table = new Table<Start>({
      caption: 'The last ten starts of the broker, newest first',
      keyOf: ({ at }) => at,
      nameOf: ({ at }) => h('time', { datetime: at }, clock(Date.parse(at), store.now())),
      columns: [
        { title: 'When', cell: () => '' },
        { title: 'After what', cell: ({ after }) => afterText(after) },
        { title: 'Restored', class: 'num', cell: ({ restored }) => number(restored) },
        { title: 'Confirmed', class: 'num', cell: ({ confirmed }) => number(confirmed) },
        { title: 'Restarting themselves', class: 'num wide', cell: ({ settling }) => number(settling) },
        {
          title: 'Lost',
          class: 'num',
          cell: ({ total, confirmed, settling }) => (total < 0 ? '–' : total - confirmed - settling),
        },
        { title: 'Until all was known', class: 'num', cell: ({ ms }) => (ms < 0 ? '–' : lasting(ms)) },
      ],
    });
    this.element = section('starts', 'Starts', this.table.element);
  }

  /** Shows them. */
  show(): void {
    this.element.hidden = this.#store.starts.length === 0;
    this.table.show(this.#store.starts);
  }
}

function number(value: number): Child {
  return value < 0 ? '–' : value;
}
