import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * The .test.js files at or below a name; node 20 expands no globs and would run every .js file of a folder.
 *
 * @param base where tests were built
 */
export function testFiles(base, name) {
  const single = path.join(base, `${name}.test.js`);
  if (existsSync(single)) return [single];
  const folder = path.join(base, name);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => path.join(folder, file))
    .sort();
}
