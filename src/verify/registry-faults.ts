// What happens to the files of a registry on real nodes, done on purpose: for scenarios and for the library.
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

/**
 * A directory goes and comes, with all that was in it. Out of sight first: the broker puts kubelet.sock back at once, and a
 * directory that fills while it is emptied stays.
 *
 * @throws NodeJS.ErrnoException where it cannot be moved
 */
export function replaceDirectory(directory: string): void {
  const aside = path.join(path.dirname(directory), `.${path.basename(directory)}-removed`);
  renameSync(directory, aside);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}
