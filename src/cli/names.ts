// Which plugins or resources a name of a command line means: one, or with a glob as rules have them, several.
import { compileGlob } from '../platform/config/globs.js';
import { CliError, EXIT } from './exit.js';

/** Whether it is a glob; names have none of these characters. */
export function isGlob(name: string): boolean {
  return /[*?[\]{}]/.test(name);
}

/**
 * The items whose name, or `type/name`, matches a glob.
 *
 * @param what their word, for the sentence: `plugin`
 * @throws CliError when there is none
 */
export function matching<T>(
  glob: string,
  what: string,
  all: readonly T[],
  namesOf: (one: T) => readonly string[],
): readonly T[] {
  const matches = compileGlob(glob, 'name');
  const found = all.filter((one) => namesOf(one).some(matches));
  if (found.length > 0) return found;
  throw new CliError(EXIT.failed, `no ${what} matches ${glob}; \`plugin-broker ${what}s\` lists those there are`);
}
