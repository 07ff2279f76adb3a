// Text that is kept, of text that somebody chose.

/**
 * The beginning of a text. A copy where something is cut off: the part that `slice` gives holds the whole text in memory for
 * as long as the part itself is kept.
 *
 * @param most UTF-16 units
 */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : Buffer.from(text.slice(0, most)).toString();
}
