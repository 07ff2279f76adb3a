// Text that somebody else chose, made fit for a line of a log: it can forge no line, move no cursor and fill no disk.

/** Controls (C0, DEL, C1 with its 8-bit escape introducer), line and paragraph separators, and marks that turn text round. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Longest value of a field, and longest message, in UTF-16 units. */
export const LONGEST_FIELD = 512;
export const LONGEST_MESSAGE = 4096;

/** The text without characters that a terminal or a reader of lines would act on, cut to `longest` units. */
export function cleanText(text: string, longest: number): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(UNSAFE, escaped);
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  if (character === '\r') return '\\r';
  const code = character.charCodeAt(0);
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
}
