// Text that others chose, before it is shown on a terminal or written to a stream that people read.

/** Control and format characters (escape sequences, line breaks, right-to-left overrides), lone surrogates, separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const EACH_UNSEEN = new RegExp(UNSEEN, 'gu');

/** Whether there is something in it that nobody sees, and that could forge a line, press a key or steer the terminal. */
export function hasUnseen(text: string): boolean {
  return UNSEEN.test(text);
}

/** Makes every character visible, so that no name can forge a line or steer the terminal. */
export function visible(text: string): string {
  return text.replace(EACH_UNSEEN, (character) =>
    character === '\n' ? '\\n' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Characters of names as pods, units, containers, tasks and devices have them. */
const ORDINARY = /^[\w.:@+=/-]*$/;

/**
 * A name that others chose, for the middle of a sentence: in quotes, with runs of blanks as one, unless all its characters are
 * ordinary. Words and commas in a name could pass for what we say ourselves.
 */
export function nameInText(name: string): string {
  return ORDINARY.test(name) ? name : visible(JSON.stringify(name.replaceAll(/\s+/g, ' ')));
}
