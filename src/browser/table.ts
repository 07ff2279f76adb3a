// Tables whose rows are kept: a row that is as it was is not touched, so that focus, selection and open details stay.
import { fill, h, type Child } from './dom.js';

/** Rows shown until somebody asks for all. */
const FIRST = 200;
/** Rows of which some are below the screen. */
const SCREENFUL = 40;

/** A column. */
export interface Column<R> {
  readonly title: string;
  /** `num`, `bar`, or `wide`: left out on narrow screens. */
  readonly class?: string;
  readonly cell: (row: R) => Child | readonly Child[];
}

/** The parts of a table. */
export interface TableOptions<R> {
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R) => string;
  /** The label of the first cell's button; absent: rows do not open. */
  readonly nameOf?: (row: R) => Child;
  /** Fills the space below an open row. Called again when the row changes. */
  readonly detail?: (row: R, into: HTMLElement) => void;
  /** A row was drawn, for its pictures. */
  readonly drawn?: (row: R, element: HTMLElement) => void;
}

interface Kept<R> {
  /** As it was drawn: while it is the same, it is not drawn again. */
  row: R | undefined;
  readonly element: HTMLTableRowElement;
  readonly button: HTMLButtonElement | undefined;
  below: HTMLTableRowElement | undefined;
}

/** One table, with its caption and a region that scrolls where the screen is narrow. */
export class Table<R> {
  readonly element: HTMLElement;
  readonly #options: TableOptions<R>;
  readonly #body = h('tbody');
  readonly #more = h('button', { type: 'button', class: 'more', hidden: true, onclick: () => this.#showAll() });
  #kept = new Map<string, Kept<R>>();
  #limit = SCREENFUL;
  #rows: readonly R[] = [];

  constructor(options: TableOptions<R>) {
    this.#options = options;
    const heads = options.columns.map(({ title, class: name }) => h('th', { scope: 'col', class: name }, title));
    const table = h(
      'table',
      {},
      h('caption', { class: 'quiet' }, options.caption),
      h('thead', {}, h('tr', {}, ...heads)),
      this.#body,
    );
    const scrolled = h('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': options.caption }, table);
    this.element = h('div', {}, scrolled, this.#more);
  }

  /** Buttons of the rows that open, in their order. */
  get buttons(): readonly HTMLButtonElement[] {
    return [...this.#body.querySelectorAll<HTMLButtonElement>('button.open')];
  }

  /** The rows on the screen and around it. */
  *shown(): Generator<readonly [row: R, element: HTMLTableRowElement]> {
    for (const { row, element } of this.#kept.values()) {
      const { top, bottom } = element.getBoundingClientRect();
      if (row !== undefined && bottom > -200 && top < innerHeight + 200) yield [row, element];
    }
  }

  /** Shows rows in this order. */
  show(rows: readonly R[]): void {
    this.#rows = rows;
    const { keyOf } = this.#options;
    const kept = new Map<string, Kept<R>>();
    for (const row of rows.slice(0, this.#limit)) {
      const key = keyOf(row);
      const known = this.#kept.get(key) ?? this.#made();
      kept.set(key, known);
      if (known.row === row) continue;
      known.row = row;
      this.#draw(row, known);
      if (known.below !== undefined) this.#options.detail?.(row, known.below.firstElementChild as HTMLElement);
    }
    for (const [key, { element, below }] of this.#kept) {
      if (kept.has(key)) continue;
      element.remove();
      below?.remove();
    }
    this.#kept = kept;
    let last: Element | null = null;
    for (const { element, below } of kept.values()) {
      // Only rows that stand elsewhere are moved: moving the one with the focus would lose it.
      if ((last === null ? this.#body.firstElementChild : last.nextElementSibling) !== element) {
        if (last === null) this.#body.prepend(element);
        else last.after(element);
      }
      if (below !== undefined && element.nextElementSibling !== below) element.after(below);
      last = below ?? element;
    }
    const rest = rows.length - kept.size;
    this.#more.hidden = rest <= 0;
    fill(this.#more, `Show the other ${String(rest)}`);
  }

  /** Shows also those below the screen: until this is called only the first are drawn. */
  fillUp(): void {
    this.#limit = Math.max(FIRST, this.#limit);
    this.show(this.#rows);
  }

  #made(): Kept<R> {
    const isOpening = this.#options.detail !== undefined;
    const element = h('tr');
    const kept: Kept<R> = {
      row: undefined,
      element,
      button: isOpening
        ? h('button', { type: 'button', class: 'open', 'aria-expanded': 'false', onclick: () => this.#toggle(kept) })
        : undefined,
      below: undefined,
    };
    return kept;
  }

  #draw(row: R, { element, button }: Kept<R>): void {
    const { columns, nameOf, drawn } = this.#options;
    const hadFocus = button !== undefined && document.activeElement === button;
    const cells = columns.map(({ cell, class: name }, nth) => {
      const made = cell(row);
      const children = Array.isArray(made) ? (made as readonly Child[]) : [made as Child];
      if (nth > 0 || nameOf === undefined) return h('td', { class: name }, ...children);
      if (button !== undefined) fill(button, nameOf(row));
      return h('th', { scope: 'row', class: name }, button ?? nameOf(row), ...children);
    });
    element.replaceChildren(...cells);
    if (hadFocus) button.focus();
    drawn?.(row, element);
  }

  #toggle(kept: Kept<R>): void {
    const isOpen = kept.below === undefined;
    kept.button?.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) {
      const cell = h('td', { colspan: this.#options.columns.length });
      kept.below = h('tr', { class: 'below' }, cell);
      kept.element.after(kept.below);
      if (kept.row !== undefined) this.#options.detail?.(kept.row, cell);
    } else {
      kept.below?.remove();
      kept.below = undefined;
    }
  }

  #showAll(): void {
    const at = this.#kept.size;
    this.#limit = Infinity;
    this.show(this.#rows);
    this.buttons[at]?.focus();
  }
}
