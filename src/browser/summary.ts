// The top of the page: the phase, the needs, and the figures that say how much there is.
import type { Need } from '../model/page-views.js';
import { fill, foreign, h, say, type Child } from './dom.js';
import { visible } from '../kernel/visible.js';
import type { Link } from './link.js';
import { command, meter, named, section, state, ticking } from './parts.js';
import type { Store } from './store.js';
import { clock, counted, lasting, size, STATES } from './words.js';

const KINDS: Readonly<Record<string, string>> = {
  problem: 'the broker',
  quarantined: 'kept out',
  rejected: 'refused',
  refused: 'refused',
  held: 'lost',
  orphaned: 'path taken',
  lease: 'lease',
  front: 'kubelet',
};

/** The bar at the top. */
export class Bar {
  readonly element: HTMLElement;
  readonly #phase = h('strong', { class: 'phase' });
  readonly #where = h('span', { class: 'where' });
  readonly #link = h('span', { class: 'link' });
  readonly #pause = h('button', { type: 'button', 'aria-pressed': 'false' }, 'Pause');
  readonly #about = h('p', { class: 'quiet about' });

  constructor(onPause: () => void, onHelp: () => void) {
    this.#pause.addEventListener('click', onPause);
    const help = h('button', { type: 'button', 'aria-label': 'Keys', onclick: onHelp }, '?');
    const top = h('div', { class: 'top' }, h('h1', {}, this.#phase, ' ', this.#where), this.#link, this.#pause, help);
    this.element = h('header', {}, top, this.#about);
  }

  /** Shows how it is now. */
  show(store: Store, link: Link): void {
    const { head, place } = store;
    const now = store.now();
    const isPaused = link.mode === 'paused';
    say(this.#pause, isPaused ? 'Go on' : 'Pause');
    this.#pause.setAttribute('aria-pressed', String(isPaused));
    say(this.#link, linkText(link, store));
    this.#link.className = `link ${link.mode}`;
    document.body.classList.toggle('stale', link.mode === 'lost');
    if (head === undefined || place === undefined) return;
    const { phase, version, startedAt, bootId, pid } = head.broker;
    this.#phase.className = `phase p-${phase}`;
    say(this.#phase, phase);
    say(this.#where, place.host);
    document.title = `${link.mode === 'lost' ? '○' : '●'} ${link.mode === 'lost' ? 'lost' : phase} · ${place.host} · plugin-broker`;
    const line = `plugin-broker ${version} · pid ${String(pid)} · up ${lasting(Math.floor((now - Date.parse(startedAt)) / 1000) * 1000)} · since ${clock(Date.parse(startedAt), now)} · boot ${bootId.slice(0, 8)} · ${place.root}`;
    say(this.#about, visible(line));
  }
}

function linkText({ mode, lostAt, hasLeft }: Link, store: Store): string {
  const asOf = `shown as of ${clock(store.now() - (Date.now() - lostAt), store.now())}`;
  if (mode === 'live') return 'live';
  if (mode === 'asking') return 'every 5 s';
  if (mode === 'paused') return 'paused';
  if (store.head === undefined) return 'connecting';
  const since = `since ${lasting(Math.floor((Date.now() - lostAt) / 1000) * 1000)}`;
  return `${hasLeft ? 'the broker has stopped' : 'reconnecting'} ${since}, ${asOf}`;
}

/** The needs: conditions that an operator must act on. */
export class Needs {
  readonly element: HTMLElement;
  /** Read aloud: the phase, and new needs. */
  readonly live = h('p', { class: 'unseen', role: 'status' });
  readonly #list = h('ul', { class: 'needs' });
  #stamp = '';
  #known = new Set<string>();

  constructor() {
    this.element = section('needs', 'What needs you', this.#list);
  }

  /** Shows needs where they changed. */
  show({ head, place }: Store): void {
    if (head === undefined) return;
    const { needs, broker } = head;
    const stamp = JSON.stringify([needs, broker.phase]);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    const fresh = needs.filter(({ key }) => !this.#known.has(key));
    this.#known = new Set(needs.map(({ key }) => key));
    say(
      this.live,
      [`plugin-broker is ${broker.phase}.`, ...fresh.slice(0, 3).map(({ what }) => visible(what))].join(' '),
    );
    const open =
      place?.isOpen === true &&
      h(
        'li',
        { class: 'note' },
        'http.listen is no loopback address: every client that reaches it sees names, paths and uids here. It shows, and changes, nothing more.',
      );
    if (needs.length === 0) fill(this.#list, h('li', { class: 'well' }, 'Nothing needs you.'), open);
    else fill(this.#list, ...needs.map(needItem), open);
  }
}

function needItem({ kind, subject, what, remedy, command: text, until, more }: Need): HTMLElement {
  const [type, ...rest] = subject.split('/');
  const name = subject.startsWith('/') || rest.length === 0 ? subject : rest.join('/');
  const about = h(
    'p',
    { class: 'about' },
    h('span', { class: `kind k-${kind}` }, KINDS[kind] ?? kind),
    name !== '' && named(name),
    name !== '' && name !== subject && h('span', { class: 'quiet' }, foreign(type ?? '')),
    until !== '' &&
      h('span', { class: 'until' }, kind === 'held' ? 'given up in ' : 'let in again in ', ticking('until', until)),
  );
  return h(
    'li',
    { class: `need k-${kind}` },
    about,
    h('p', {}, foreign(what)),
    h('p', { class: 'do' }, h('span', {}, foreign(remedy)), text !== '' && command(text)),
    more > 0 && h('p', { class: 'quiet' }, `and ${String(more)} more, for the same reason`),
  );
}

/** The figures. */
export class Tiles {
  readonly element = h('div', { class: 'tiles' });
  #stamp = '';

  /** Shows figures where they changed. */
  show(store: Store): void {
    const { head, plugins, resources, limits, starts } = store;
    if (head === undefined) return;
    const primaries = [...plugins.values()].filter(({ primary }) => primary);
    const states = STATES.map((word) => [word, primaries.filter(({ state: is }) => is === word).length] as const);
    const sum = (of: 'capacity' | 'allocatable' | 'allocated'): number =>
      [...resources.values()].reduce((total, each) => total + each[of], 0);
    const [capacity, allocatable, allocated] = [sum('capacity'), sum('allocatable'), sum('allocated')];
    const keptOut = new Set(
      [...limits.values()].filter(({ quarantinedUntil }) => quarantinedUntil !== '').map(({ plugin }) => plugin),
    );
    const { checkpoint, ledger, broker } = head;
    const [start] = starts;
    const stamp = JSON.stringify([
      states,
      capacity,
      allocatable,
      allocated,
      keptOut.size,
      checkpoint,
      ledger,
      broker.phase,
      start,
    ]);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    const confirmed = primaries.filter(({ state: is }) => is !== 'restored').length;
    fill(
      this.element,
      tile(
        'Plugins',
        String(primaries.length),
        ...countedStates(
          states,
          broker.phase === 'restoring' ? `${String(confirmed)} of ${String(primaries.length)} confirmed` : '',
        ),
      ),
      tile(
        'Devices that can be given out',
        `${String(allocatable)} of ${String(capacity)}`,
        meter(allocatable, capacity, 'devices that can be given out'),
        `${String(allocated)} in use, ${counted(ledger.leases, 'lease')}${ledger.waiting > 0 ? `, ${String(ledger.waiting)} waiting` : ''}`,
      ),
      tile(
        'Kept out',
        String(keptOut.size),
        keptOut.size === 0 ? 'no quarantine' : counted(keptOut.size, 'quarantine'),
      ),
      tile(
        'Checkpoint',
        checkpoint.state,
        `generation ${String(checkpoint.generation)}, ${size(checkpoint.bytes)}`,
        checkpoint.lastWrite === ''
          ? 'never written'
          : h('span', {}, 'written ', ticking('since', checkpoint.lastWrite), ' ago'),
      ),
      start !== undefined &&
        tile(
          'Last start',
          afterText(start.after),
          start.total < 0
            ? `${counted(Math.max(0, start.restored), 'plugin')} restored`
            : `restored ${String(start.restored)}, confirmed ${String(start.confirmed)} in ${lasting(start.ms)}`,
          h('span', {}, ticking('since', start.at), ' ago'),
        ),
    );
  }
}

function countedStates(states: readonly (readonly [string, number])[], instead: string): Child[] {
  if (instead !== '') return [instead];
  const some = states.filter(([, count]) => count > 0);
  return some.map(([word, count]) => h('span', { class: 'count' }, `${String(count)} `, state(word)));
}

function tile(title: string, figure: string, ...rest: readonly Child[]): HTMLElement {
  return h(
    'div',
    { class: 'tile' },
    h('h3', {}, title),
    h('p', { class: 'figure' }, figure),
    ...rest.map((each) => h('p', {}, each)),
  );
}

/** The event after which the broker started. */
export function afterText(after: string): string {
  return STARTS.get(after) ?? after;
}

const STARTS: ReadonlyMap<string, string> = new Map([
  ['first', 'a first start'],
  ['clean', 'after a clean stop'],
  ['killed', 'after a kill'],
  ['rebooted', 'after a reboot'],
]);
