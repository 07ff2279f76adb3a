// The nesting of a document. A parsed document must be written again, and JSON.stringify recurses.

/** Levels of objects and lists that a checkpoint may have. The formats need eight; the rest is for newer versions. */
export const MAX_LEVELS = 64;
/** Continues the sentence "checkpoint.json cannot be used: …". */
export const TOO_DEEP = `it nests more than ${String(MAX_LEVELS)} levels deep`;

/** Whether a parsed value has more than `levels` objects and lists within each other. Looks no deeper than that. */
export function nestsDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => nestsDeeper(inner, levels - 1));
}
