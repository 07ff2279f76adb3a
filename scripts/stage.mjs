// Copies the files that a machine needs to run the program, without those for development: node scripts/stage.mjs FOLDER. The
// container image and the Debian package hold exactly these; everything else that packages give is in the bundles of dist/.
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
/** Whether a file of koffi's folder src/ is a source of the native part; only its .js and .cjs files run. */
const isSource = (file) => /\/koffi\/src\/.*\.[^/.]+$/.test(file) && !/\.c?js$/.test(file);
/** Parts of koffi that never run here: its documents and sources, and binaries for another libc. */
const NEVER_RUN = [
  'koffi/doc',
  'koffi/vendor',
  'koffi/lib',
  'koffi/cnoke.cjs',
  'koffi/CHANGELOG.md',
  `@koromix/koffi-linux-${process.arch}/musl_${process.arch}`,
];

/** Copies it below a folder. */
export function stage(folder) {
  mkdirSync(folder, { recursive: true });
  // The modules for programs, and source maps of minified ones, are for developers.
  cpSync(path.join(root, 'dist'), path.join(folder, 'dist'), {
    recursive: true,
    filter: (file) => !/\.(map|js|d\.ts)$/.test(file),
  });
  for (const name of ['proto', 'config', 'package.json', 'LICENSE'])
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  for (const name of ['koffi', `@koromix/koffi-linux-${process.arch}`]) {
    const from = path.join(root, 'node_modules', name);
    const filter = (file) => !isSource(file);
    const to = path.join(folder, 'node_modules', name);
    if (existsSync(from)) cpSync(from, to, { recursive: true, dereference: true, filter });
  }
  for (const name of NEVER_RUN) rmSync(path.join(folder, 'node_modules', name), { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    console.error('usage: node scripts/stage.mjs FOLDER');
    process.exit(2);
  }
  stage(path.resolve(folder));
}
