// The names in braces that stand for directories in the plugin's command and environment.
import { KUBELET_DIRECTORY, pathsBelow, type Directories } from './directories.js';

/** The values of names in braces. */
export type Braces = ReadonlyMap<string, string>;

/** The directories as the plugin sees them: with a bound directory those that are built into it. */
export function bracesFor({ kubelet }: Pick<Directories, 'kubelet'>, isBound: boolean): Braces {
  return new Map(Object.entries(pathsBelow(isBound ? KUBELET_DIRECTORY : kubelet)));
}

/** Fills the names in; other braces stay as they are. */
export function fillIn(text: string, braces: Braces): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => braces.get(name) ?? whole);
}

/** Names that are filled in; a word in braces that looks like one of them and is none is a mistake. */
const NAMES: readonly string[] = Object.keys(pathsBelow('/'));

/**
 * The first word in braces that is not a name, as a sentence; undefined where all are. Words of other programs, such as
 * the `{}` of find, a `${VARIABLE}` of a shell, or JSON, are none.
 */
export function findUnknown(command: readonly string[]): string | undefined {
  for (const text of command) {
    for (const [whole, name = ''] of text.matchAll(/(?<!\$)\{([A-Za-z_][\w-]*)\}/g)) {
      if (OTHERS.has(name) || NAMES.includes(name)) continue;
      return `${whole} in the command stands for nothing: there are ${NAMES.map((one) => `{${one}}`).join(', ')}`;
    }
  }
  return undefined;
}

/** Names that `sim` fills in itself. */
const OTHERS: ReadonlySet<string> = new Set(['pid', 'time', 'n']);
