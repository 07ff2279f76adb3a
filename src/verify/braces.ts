// The names in braces that stand for directories in the plugin's command and environment.
import path from 'node:path';
import { KUBELET_DIRECTORY, type Directories } from './directories.js';

/** The values of names in braces. */
export type Braces = ReadonlyMap<string, string>;

/** The directories as the plugin sees them: with a bound directory those that are built into it. */
export function bracesFor({ kubelet }: Pick<Directories, 'kubelet'>, isBound: boolean): Braces {
  const base = isBound ? KUBELET_DIRECTORY : kubelet;
  const devicePlugins = path.join(base, 'device-plugins');
  return new Map([
    ['devicePlugins', devicePlugins],
    ['registry', path.join(base, 'plugins_registry')],
    ['plugins', path.join(base, 'plugins')],
    ['kubeletSocket', path.join(devicePlugins, 'kubelet.sock')],
  ]);
}

/** Fills the names in; other braces stay as they are. */
export function fillIn(text: string, braces: Braces): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => braces.get(name) ?? whole);
}

/** Names that are filled in; a word in braces that looks like one of them and is none is a mistake. */
const NAMES: readonly string[] = ['devicePlugins', 'registry', 'plugins', 'kubeletSocket'];

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
