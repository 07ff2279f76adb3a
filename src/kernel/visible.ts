// Text that others chose, before it is shown on a terminal or written to a stream that people read.

/**
 * Control and format characters (escape sequences, line breaks, right-to-left overrides), lone surrogates, separators, and those that
 * a reader is not meant to see (fillers, selectors of variants, tags).
 */
const HIDDEN = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]`;
/** Marks beyond the eighth on one letter, which no script has: piled up they cover the lines around. */
const PILED = String.raw`\p{M}(?<=\p{M}{9})`;
const UNSEEN = new RegExp(`${HIDDEN}|${PILED}`, 'u');
const EACH_UNSEEN = new RegExp(UNSEEN, 'gu');
/** In JSON text line breaks and tabs stand between its values alone. */
const EACH_UNSEEN_IN_JSON = new RegExp(`(?![\\n\\t])${HIDDEN}|${PILED}`, 'gu');

/** Whether there is something in it that nobody sees, or that hides others: it could forge a line, press a key or steer the terminal. */
export function hasUnseen(text: string): boolean {
  return UNSEEN.test(text);
}

/** The text with what `written` makes of each such character in its place. */
export function withoutUnseen(text: string, written: (character: string) => string): string {
  return text.replace(EACH_UNSEEN, written);
}

/** Makes every character visible, so that no name can forge a line or steer the terminal. */
export function visible(text: string): string {
  return withoutUnseen(text, (character) =>
    character === '\n' ? '\\n' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** JSON text that says the same, with an escape in the place of each such character. */
export function visibleInJson(json: string): string {
  return json.replace(EACH_UNSEEN_IN_JSON, escapes);
}

/** One for each code unit. */
function escapes(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** Characters of names as pods, units, containers, tasks and devices have them. */
const ORDINARY = /^[\w.:@+=/-]*$/;

/**
 * A name that others chose, for the middle of a sentence: in quotes, with runs of spaces as one, unless all its characters are
 * ordinary. Words and commas in a name could pass for our own.
 */
export function nameInText(name: string): string {
  return ORDINARY.test(name) ? name : visible(JSON.stringify(name.replaceAll(/\s+/g, ' ')));
}
