// Text that came from plugins, made safe and measurable for a terminal.
import stringWidth from 'string-width';
import { visibleInJson } from '../../kernel/visible.js';

/** Code units that one column can take in text that somebody meant: letters with accents, emoji with modifiers. */
const LONGEST_CHARACTER = 16;

/** JSON of a value, indented unless it shall be one line; the same value, but safe to look at on a terminal. */
export function visibleJson(value: unknown, oneLine: boolean): string {
  return visibleInJson(JSON.stringify(value, undefined, oneLine ? undefined : 2));
}

/** How many columns a visible text takes; wide characters take two. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** Cuts a visible text to a number of columns; the last one is an ellipsis where something was cut. */
export function cut(text: string, columns: number): string {
  // Nothing is measured that cannot be seen: a text may have megabytes.
  const head = text.slice(0, columns * LONGEST_CHARACTER);
  if (head === text && widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(head)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Fills a visible text with spaces to a number of columns. */
export function pad(text: string, columns: number, side: 'left' | 'right'): string {
  const spaces = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return side === 'left' ? text + spaces : spaces + text;
}
