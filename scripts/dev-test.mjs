// Runs tests from a private build folder, so that several people can work in one tree:
// PB_BUILD=/tmp/x node scripts/dev-test.mjs unit/kernel
import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from './child-environment.mjs';
import { testFiles } from './test-files.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const target = process.env.PB_BUILD;
if (target === undefined) throw new Error('set PB_BUILD to a folder of your own');
mkdirSync(target, { recursive: true });
for (const name of [
  'node_modules',
  'proto',
  'config',
  'deploy',
  'docs',
  'package.json',
  'README.md',
  'ARCHITECTURE.md',
  'scripts',
  'test',
  'src',
]) {
  if (!existsSync(path.join(target, name)) && existsSync(path.join(root, name))) {
    symlinkSync(path.join(root, name), path.join(target, name));
  }
}
const built = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.mjs')], {
  stdio: 'inherit',
  env: { ...childEnvironment, PB_OUT: target },
});
if (built.status !== 0) process.exit(1);
const base = path.join(target, 'build', 'test');
const files = process.argv.slice(2).flatMap((name) => testFiles(base, name));
if (files.length === 0) {
  console.error('no tests found');
  process.exit(1);
}
const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', '--test-reporter=spec', ...files], {
  stdio: 'inherit',
  cwd: target,
  env: childEnvironment,
});
process.exit(run.status ?? 1);
