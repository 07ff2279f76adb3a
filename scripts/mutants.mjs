// Undoes one thing at a time in a copy of the sources and expects the test that is named to fail: what a test would not
// notice is not held by it. `npm run mutants` runs all, `npm run mutants -- TEXT…` those whose title has one of the texts.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { childEnvironment } from './child-environment.mjs';
import { MUTANTS } from './mutants/list.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const PATIENCE_MS = 120_000;
const wanted = process.argv.slice(2);
const chosen = MUTANTS.filter(({ title }) => wanted.length === 0 || wanted.some((text) => title.includes(text)));
const copy = mkdtempSync(path.join(os.tmpdir(), 'pb-mutants-'));

/** Builds what a source of the copy has become: it alone, as build.mjs does, or all where a program is run. */
async function compile(file, isBundled) {
  if (isBundled) {
    spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: copy, env: childEnvironment, stdio: 'ignore' });
    return;
  }
  if (!file.endsWith('.ts')) return;
  await build({
    entryPoints: [path.join(copy, file)],
    outbase: copy,
    outdir: path.join(copy, 'build'),
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'silent',
  });
}

/** Whether a test file fails, or takes for ever. */
function fails(test) {
  const file = path.join(copy, 'build', 'test', `${test}.test.js`);
  const { status } = spawnSync(process.execPath, ['--test', file], {
    cwd: copy,
    env: childEnvironment,
    timeout: PATIENCE_MS,
    stdio: 'ignore',
  });
  return status !== 0;
}

/** One mutant. Returns why it is not as it should be, or undefined. */
async function tried({ file, search, replace, test, isBundled = false }) {
  const target = path.join(copy, file);
  const sound = readFileSync(target, 'utf8');
  if (sound.split(search).length !== 2) return `${file} has the text that is to be undone not once; mend the list`;
  if (fails(test)) return `${test} fails with nothing undone`;
  writeFileSync(
    target,
    sound.replace(search, () => replace),
  );
  try {
    await compile(file, isBundled);
    return fails(test) ? undefined : `nothing in ${test} notices it`;
  } finally {
    writeFileSync(target, sound);
    await compile(file, isBundled);
  }
}

let survivors = 0;
try {
  // build/ is what `npm run build` made last; dist/ and config/ are what some tests read.
  for (const folder of ['src', 'test', 'build', 'dist', 'config', 'docs', 'proto', 'deploy', 'scripts'])
    cpSync(path.join(root, folder), path.join(copy, folder), { recursive: true });
  for (const file of ['package.json', 'tsconfig.json', 'CHANGELOG.md', 'ARCHITECTURE.md'])
    cpSync(path.join(root, file), path.join(copy, file));
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  for (const mutant of chosen) {
    const why = await tried(mutant);
    if (why !== undefined) survivors += 1;
    console.log(why === undefined ? `  killed    ${mutant.title}` : `✖ SURVIVED  ${mutant.title}: ${why}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${chosen.length - survivors} of ${chosen.length} are noticed`);
process.exit(survivors === 0 ? 0 : 1);
