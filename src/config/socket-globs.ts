// Patterns of rules for sockets, where a link leads to their directory: a pattern holds however its directory is written.
import type { Paths } from '../model/settings.js';
import type { CompileGlob } from './ports.js';

/**
 * Compiles globs so that a pattern for paths of sockets means them by both names of their directory: as `paths` say, and as it
 * really is. A registration is asked about with the path that was sent, a plugin that is in by its real one.
 *
 * @param realDirectory where a directory really is; undefined while there is none
 */
export function globsThroughLinks(
  compile: CompileGlob,
  { devicePlugins, pluginsRegistry }: Pick<Paths, 'devicePlugins' | 'pluginsRegistry'>,
  realDirectory: (directory: string) => string | undefined,
): CompileGlob {
  const known = new Map<string, string>();
  const realOf = (directory: string): string => {
    const real = known.get(directory) ?? realDirectory(directory);
    // There is none before the first start.
    if (real !== undefined) known.set(directory, real);
    return real ?? directory;
  };
  const otherNameOf = (socket: string): string => {
    for (const directory of [devicePlugins, pluginsRegistry]) {
      const real = realOf(directory);
      if (real === directory) continue;
      if (socket.startsWith(`${directory}/`)) return real + socket.slice(directory.length);
      if (socket.startsWith(`${real}/`)) return directory + socket.slice(real.length);
    }
    return socket;
  };
  return (pattern, kind) => {
    const matches = compile(pattern, kind);
    if (kind !== 'socket' || !pattern.includes('/')) return matches;
    // A pattern excludes a socket by either name.
    if (pattern.startsWith('!')) return (socket) => matches(socket) && matches(otherNameOf(socket));
    return (socket) => matches(socket) || matches(otherNameOf(socket));
  };
}
