// Runs a script on another Node.js than the one at hand: node scripts/on-node.mjs 24 scripts/test.mjs unit contract
// The runtime comes from the package registry into node_modules/.cache and stays there. "path" as script prints where it is.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
/** The newest releases of each line that ship as a package without an install script. */
const VERSIONS = { 22: '22.23.3', 24: '24.9.0' };

const [line, ...command] = process.argv.slice(2);
const version = VERSIONS[line];
if (version === undefined || command.length === 0) {
  console.error(`usage: node scripts/on-node.mjs ${Object.keys(VERSIONS).join('|')} SCRIPT [ARGUMENT…]`);
  process.exit(2);
}
const name = `node-linux-${process.arch}`;
const folder = path.join(root, 'node_modules', '.cache', `node-${version}`);
const binary = path.join(folder, 'node_modules', name, 'bin', 'node');
if (!existsSync(binary)) {
  mkdirSync(folder, { recursive: true });
  const install = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    `${name}@${version}`,
  ];
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}
if (command[0] === 'path') {
  console.log(binary);
} else {
  const run = spawnSync(binary, command, { cwd: root, stdio: 'inherit' });
  process.exit(run.status ?? 1);
}
