// The registry directory, as discovery looks at it.
import path from 'node:path';
import type { BelowDirectory, RegistryPort, Unusable } from '../../discovery/ports.js';
import { isHidden } from './directory-watch.js';
import { listFiles } from './listed-files.js';
import type { UserOf } from '../../model/ids.js';
import type { PinProblem } from '../../model/plugin.js';
import type { SocketPaths } from './socket-paths.js';

/** The listeners and rules of the directory. */
export interface RegistryDirectoryPorts {
  readonly directory: string;
  readonly paths: SocketPaths;
  /** Where sockets of plugins of the checkpoint are: `RegistrySockets.expected` (reconcile/registry-sockets). */
  readonly expected: () => Iterable<string>;
  /** Tells of changes in a directory from now on: `DirectoryWatch.follow` (platform/fs/directory-watch). */
  readonly follow: (directory: string) => BelowDirectory;
  /** The refusal for a socket that cannot be opened: `pinRefusal` (admission/endpoint). */
  readonly refusal: (file: string, problem: PinProblem) => Unusable['refusal'];
  /** The uids that count as one user. */
  readonly userOf: UserOf;
}

/** The real directory. */
export function registryDirectory({
  directory,
  paths,
  expected,
  follow,
  refusal,
  userOf,
}: RegistryDirectoryPorts): RegistryPort {
  return {
    list: () => listFiles(paths, directory, follow),
    expected,
    follow,
    pin: (file) => {
      const pinned = paths.pin(file);
      if (!('problem' in pinned)) return pinned;
      const isGone = pinned.problem === 'missing' || pinned.problem === 'not-a-socket';
      return isGone ? undefined : { refusal: refusal(file, pinned) };
    },
    keyAt: paths.keyAt,
    ownerOf: (file, known) => userOf(paths.ownerOf(file, known)),
    isHidden: (file) => isHidden(directory, file),
    topOf: (file) => topOf(directory, file),
  };
}

/** The first name of a path below a directory. */
function topOf(directory: string, file: string): string {
  if (!file.startsWith(`${directory}/`)) return path.relative(directory, file).split('/', 1)[0] ?? file;
  const begin = directory.length + 1;
  const end = file.indexOf('/', begin);
  return end < 0 ? file.slice(begin) : file.slice(begin, end);
}
