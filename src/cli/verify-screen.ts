// The screen while `verify` works: a table that changes on a terminal, else one line for each scenario that ended.
import { visible } from '../kernel/visible.js';
import type { Progress } from '../verify/campaign.js';
import type { ScenarioResult, Verdict } from '../verify/verdict.js';
import { cut, pad } from './output/text.js';
import { painter, type Paint, type Tone } from './output/tones.js';
import type { Terminal } from './terminal.js';

const CLEAR_LINE = '\u001b[K';
/** Running times on screen are this old at most. */
const REDRAW_MS = 500;

const TONES: Readonly<Record<Verdict | 'running' | 'waiting', Tone>> = {
  passed: 'good',
  failed: 'bad',
  skipped: 'warn',
  running: 'bold',
  waiting: 'quiet',
};
const STATE_WIDTH = 7;

interface Row {
  readonly name: string;
  state: Verdict | 'running' | 'waiting';
  beganAt: number;
  seconds: number;
  text: string;
}

/** Shows how far it is. */
export class VerifyScreen implements Progress {
  readonly #terminal: Terminal;
  readonly #paint: Paint;
  readonly #rows: ReadonlyMap<string, Row>;
  readonly #nameWidth: number;
  readonly #style: 'table' | 'lines' | 'silent';
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #warns: ReadonlySet<string>;
  #drawn = 0;

  /**
   * @param isSilent shows nothing: the results are for programs
   * @param warns scenarios whose failure is a warning
   */
  constructor(terminal: Terminal, names: readonly string[], isSilent: boolean, warns: ReadonlySet<string> = new Set()) {
    this.#warns = warns;
    this.#terminal = terminal;
    this.#paint = painter(terminal.hasColours);
    this.#rows = new Map(names.map((name) => [name, { name, state: 'waiting', beganAt: 0, seconds: 0, text: '' }]));
    this.#nameWidth = Math.max(...names.map((name) => name.length));
    const fits = terminal.isTerminal && terminal.size().rows > names.length + 1;
    this.#style = isSilent ? 'silent' : fits ? 'table' : 'lines';
    if (this.#style === 'table') this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
  }

  began(name: string): void {
    const row = this.#rows.get(name);
    if (row === undefined) return;
    row.state = 'running';
    row.beganAt = this.#terminal.now();
    this.#draw();
  }

  step(name: string, what: string): void {
    const row = this.#rows.get(name);
    if (row === undefined) return;
    row.text = what;
    this.#draw();
  }

  ended({ name, verdict, seconds, evidence }: ScenarioResult): void {
    const row = this.#rows.get(name);
    if (row === undefined) return;
    Object.assign(row, { state: verdict, seconds, text: evidence });
    if (this.#style === 'lines') this.#terminal.write(`${this.#line(row)}\n`);
    this.#draw();
  }

  /** Draws it a last time. */
  close(): void {
    clearInterval(this.#timer);
    this.#draw();
  }

  #draw(): void {
    if (this.#style !== 'table') return;
    const up = this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A`;
    const { columns } = this.#terminal.size();
    const lines = [...this.#rows.values()].map((row) => `${this.#line(row, columns)}${CLEAR_LINE}\n`);
    this.#terminal.write(`${up}\r${lines.join('')}`);
    this.#drawn = lines.length;
  }

  #line({ name, state, beganAt, seconds, text }: Row, columns?: number): string {
    const spent = state === 'running' ? (this.#terminal.now() - beganAt) / 1000 : seconds;
    const time = pad(state === 'waiting' ? '' : `${spent.toFixed(1)} s`, 7, 'right');
    const head = `${pad(name, this.#nameWidth, 'left')}  ${time}  `;
    const room = columns === undefined ? Infinity : columns - head.length - STATE_WIDTH - 3;
    const shown = room === Infinity ? visible(text) : cut(visible(text), Math.max(1, room));
    const isWarning = state === 'failed' && this.#warns.has(name);
    return `${this.#paint(isWarning ? 'warn' : TONES[state], pad(isWarning ? 'warning' : state, STATE_WIDTH, 'left'))}  ${head}${shown}`;
  }
}
