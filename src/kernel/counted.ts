/** A count with its noun, for sentences: 1 plugin, 3 plugins. */
export function counted(count: number, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
}
