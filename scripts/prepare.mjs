// Runs after an npm install in a checkout: builds missing files, and leaves existing ones, because a daemon may run from dist/.
// npx runs this, too, whenever it starts the program of a checkout.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const program = path.join(root, 'dist', 'plugin-broker.cjs');

/** When the newest source was written; milliseconds. */
function newestSource() {
  const entries = readdirSync(path.join(root, 'src'), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('generated'));
  return Math.max(...files.map((entry) => statSync(path.join(entry.parentPath, entry.name)).mtimeMs));
}

function canBuild() {
  try {
    createRequire(import.meta.url).resolve('esbuild');
    return true;
  } catch {
    return false;
  }
}

if (process.env.npm_command === 'exec') {
  // Somebody starts the program.
} else if (existsSync(program)) {
  if (statSync(program).mtimeMs < newestSource())
    console.error('dist/ is older than src/: npm run build makes it anew');
} else if (canBuild()) await import('./build.mjs');
else console.error('dist/ is not built, and cannot be without the development packages: npm ci && npm run build');
