// Tables for people. Every row is one line whatever the cells hold.
import { visible } from '../../kernel/visible.js';
import { cut, pad, widthOf } from './text.js';
import type { Paint, Tone } from './tones.js';

/** A longer cell is cut: names and paths are shorter, and a plugin shall not fill the screen. */
const WIDEST_CELL = 120;

/** One column: its title, its text, and its style. */
export interface Column<T> {
  readonly title: string;
  readonly of: (row: T) => string | number;
  readonly tone?: (row: T) => Tone;
}

/**
 * Lays out rows below titles; numbers stand on the right.
 *
 * @returns lines, each with its line break; only the titles when there are no rows
 */
export function table<T>(columns: readonly Column<T>[], rows: readonly T[], paint: Paint): string {
  const laidOut = columns.map(({ title, of, tone }) => {
    const values = rows.map((row) => of(row));
    const cells = values.map((value) => cut(visible(String(value)), WIDEST_CELL));
    const side = values.length > 0 && values.every((value) => typeof value === 'number') ? 'right' : 'left';
    const width = cells.reduce((widest, cell) => Math.max(widest, widthOf(cell)), title.length);
    const tones = rows.map((row) => tone?.(row) ?? 'plain');
    return {
      title: pad(title, width, side),
      cells: cells.map((cell, row) => paint(tones[row] ?? 'plain', pad(cell, width, side))),
    };
  });
  const lines = [
    laidOut.map(({ title }) => title),
    ...rows.map((_, row) => laidOut.map(({ cells }) => cells[row] ?? '')),
  ];
  return lines.map((line) => `${line.join('  ').trimEnd()}\n`).join('');
}
