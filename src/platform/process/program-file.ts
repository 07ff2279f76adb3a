// The program's file, for callers that start it as a process.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The bundle `plugin-broker.cjs`: beside the running code in an installation, in dist/ above it in a checkout.
 *
 * @throws Error where it is not built
 */
export function programFile(): string {
  const here = path.dirname(fileURLToPath(import.meta.url));
  for (let folder = here; ; folder = path.dirname(folder)) {
    for (const candidate of [path.join(folder, 'plugin-broker.cjs'), path.join(folder, 'dist', 'plugin-broker.cjs')]) {
      if (existsSync(candidate)) return candidate;
    }
    if (path.dirname(folder) === folder)
      throw new Error(`no plugin-broker.cjs beside or above ${here}: npm run build makes it`);
  }
}
