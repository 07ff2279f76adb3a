// Text of others inside HTML: nothing that a plugin writes changes the page.

/** Sequences by which terminals are steered: CSI, OSC, and the two-character ones. */
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
/** Control characters, marks that turn the direction of text, and halves of characters; tab and line end are kept. */
const UNSEEN = /[^\t\n\P{C}]|[\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu;

/** Escapes text for element content and for attribute values. */
export function escaped(text: string): string {
  return text
    .replaceAll(ANSI, '')
    .replaceAll(UNSEEN, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** The beginning and the end of a long text, with a word about the part between. @param most characters that are kept */
export function headAndTail(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters are left out here …\n${text.slice(-half)}`;
}
