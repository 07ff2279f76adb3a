// Text that somebody else chose, made fit for a line of a log: it can forge no line, move no cursor and fill no disk.
import { withoutUnseen } from '../../kernel/visible.js';

/** Longest value of a field, and longest message, in UTF-16 units. */
export const LONGEST_FIELD = 512;
export const LONGEST_MESSAGE = 4096;

/** The text without characters that a terminal or a reader of lines would act on, cut to `longest` units. */
export function cleanText(text: string, longest: number): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return withoutUnseen(cut, escaped);
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  if (character === '\r') return '\\r';
  const code = character.codePointAt(0) ?? 0;
  if (code > 0xffff) return `\\u{${code.toString(16)}}`;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
}
