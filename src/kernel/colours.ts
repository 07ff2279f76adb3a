/**
 * Whether colours are wanted: on a terminal, without NO_COLOR (no-color.org), and not on a dumb one.
 *
 * @param env the environment of the process
 */
export function wantsColours(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
