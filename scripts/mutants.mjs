// Undoes one thing at a time in a copy of the sources and expects the named test to fail: a fact whose loss no test notices is
// held by none. `npm run mutants` runs all, `npm run mutants -- TEXT…` those whose title has one of the texts. Only the copy is
// changed, in the folder for temporary files: a run that is killed leaves this tree as it was.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

const lost = chosen.filter(
  ({ file, search }) => readFileSync(path.join(root, file), 'utf8').split(search).length !== 2,
);
for (const { title, file } of lost)
  console.error(`✖ ${title}: ${file} has the text that is to be undone not exactly once`);
if (lost.length > 0 || chosen.length === 0) {
  console.error(lost.length > 0 ? 'mend scripts/mutants/list.mjs' : 'no mutant has such a title');
  process.exit(2);
}

const copy = mkdtempSync(path.join(os.tmpdir(), 'pb-mutants-'));
const halt = new globalThis.AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => halt.abort(new Error(`ended by ${signal}`)));

/** Runs node in the copy, and ends all processes it leaves behind. Returns whether it ended with 0 in time. */
async function succeeds(...args) {
  const child = spawn(process.execPath, args, { cwd: copy, env: childEnvironment, detached: true, stdio: 'ignore' });
  const endAll = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nobody of it is left.
    }
  };
  const late = globalThis.setTimeout(endAll, PATIENCE_MS);
  halt.signal.addEventListener('abort', endAll, { once: true });
  const [code] = await once(child, 'exit');
  globalThis.clearTimeout(late);
  halt.signal.removeEventListener('abort', endAll);
  endAll();
  halt.signal.throwIfAborted();
  return code === 0;
}

/** Builds what a source of the copy has become: it alone, as build.mjs does, or all where a program is run. */
async function compile(file, isBundled) {
  if (isBundled) {
    if (!(await succeeds('scripts/build.mjs'))) throw new Error(`${file} does not build any more`);
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

/** Whether a test file, or a check that is a script, passes. */
function passes(test) {
  if (test.endsWith('.mjs')) return succeeds(test);
  return succeeds('--test', path.join(copy, 'build', 'test', `${test}.test.js`));
}

/** Tests that were seen to pass with nothing undone. */
const sound = new Set();

/** One mutant. Returns why it is not as it should be, or undefined. */
async function tried({ file, search, replace, test, isBundled = false }) {
  if (!sound.has(test) && !(await passes(test))) return `${test} fails with nothing undone`;
  sound.add(test);
  const target = path.join(copy, file);
  const whole = readFileSync(target, 'utf8');
  writeFileSync(
    target,
    whole.replace(search, () => replace),
  );
  try {
    await compile(file, isBundled);
    return (await passes(test)) ? `nothing in ${test} notices it` : undefined;
  } finally {
    writeFileSync(target, whole);
    if (!halt.signal.aborted) await compile(file, isBundled);
  }
}

let survivors = 0;
try {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const files = listed
    .toString()
    .split('\0')
    .filter((file) => file !== '' && existsSync(path.join(root, file)));
  // build/ and dist/ are what `npm run build` made last; src/generated/ is made by it, too.
  for (const file of [...files, 'src/generated', 'build', 'dist'])
    cpSync(path.join(root, file), path.join(copy, file), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  execFileSync('git', ['init', '--quiet'], { cwd: copy });
  // .gitignore names the folder, and here it is a link.
  writeFileSync(path.join(copy, '.git', 'info', 'exclude'), 'node_modules\n');
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
