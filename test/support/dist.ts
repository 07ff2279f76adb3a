import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * The folder that holds the bundles and the text files of the running build: the nearest one above this file with
 * `dist/plugin-broker.cjs`.
 *
 * @throws Error when nothing was built
 */
export function buildRoot(): string {
  for (let folder = import.meta.dirname; ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'dist', 'plugin-broker.cjs'))) return folder;
    if (path.dirname(folder) === folder)
      throw new Error(`no dist/plugin-broker.cjs above ${import.meta.dirname}; run npm run build`);
  }
}

/** A file below dist/ of the running build, `plugin-broker.cjs` unless named. */
export function distFile(name = 'plugin-broker.cjs'): string {
  return path.join(buildRoot(), 'dist', name);
}
