import { ifPossible } from '../../kernel/if-possible.js';
import { makeDirectories, realpathSync, statusOf } from './name-calls.js';

/** Mode of the directories that the broker makes for plugins, as the kubelet makes them. */
const DIRECTORY_MODE = 0o750;

/** Makes a directory and the missing ones above it. Fine when it is there. @throws Error when it cannot be made */
export function makeDirectory(path: string): void {
  makeDirectories(path, DIRECTORY_MODE);
}

/** A directory's real path, links followed; undefined when it does not exist. */
export function realDirectory(path: string): string | undefined {
  return ifPossible(() => realpathSync(path));
}

/** Whether something is at a path. So it is where that cannot be seen. */
export function isThere(path: string): boolean {
  try {
    return statusOf(path) !== undefined;
  } catch {
    return true;
  }
}
