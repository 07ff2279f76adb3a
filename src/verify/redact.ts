// Private data that a record and a report may not show: the paths of the run's private directories, and values of the
// environment, in which people keep tokens. Both are replaced by their names wherever they appear, in the output of the plugin,
// too.
import type { Directories } from './directories.js';

/** Shorter values are words like `true` or `1`, and a text would be riddled. */
const SHORTEST_VALUE = 8;

/** Replaces private data in a text. */
export type Redact = (text: string) => string;

/**
 * Makes the replacement for one rig.
 *
 * @param env the environment of the plugin; values that stand in the command are shown there, and so are not hidden
 */
export function redaction(directories: Directories, env: NodeJS.ProcessEnv, command: readonly string[]): Redact {
  const words: [string, string][] = [
    [directories.kubeletSocket, '{kubeletSocket}'],
    [directories.devicePlugins, '{devicePlugins}'],
    [directories.registry, '{registry}'],
    [directories.plugins, '{plugins}'],
    [directories.kubelet, '{kubelet}'],
    [directories.own, '{private}'],
  ];
  const shown = command.join('\n');
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.length < SHORTEST_VALUE || value.includes('{')) continue;
    if (!shown.includes(value)) words.push([value, `{$${name}}`]);
  }
  // A longer one may hold a shorter one.
  words.sort(([a], [b]) => b.length - a.length);
  return (text) => words.reduce((shortened, [from, to]) => shortened.replaceAll(from, to), text);
}
