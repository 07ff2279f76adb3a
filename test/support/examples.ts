import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildRoot } from './dist.js';
import { tempDir } from './temp-dir.js';

/** The code of a document that begins with the comment `// NAME`. @throws Error where the document has none */
export function exampleOf(document: string, name: string): string {
  const text = readFileSync(path.join(buildRoot(), document), 'utf8');
  const blocks = [...text.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, code = '']) => code);
  const found = blocks.find((code) => code.startsWith(`// ${name}\n`));
  if (found === undefined) throw new Error(`${document} has no example ${name}`);
  return found;
}

/** A project that has this package installed, and files. @returns its folder */
export function projectWith(files: Readonly<Record<string, string>>): string {
  const folder = tempDir();
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(buildRoot(), path.join(folder, 'node_modules', 'plugin-broker'));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}
