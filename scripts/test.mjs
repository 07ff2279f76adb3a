// Runs the compiled tests of the named folders below test/ with node's own runner: node scripts/test.mjs unit contract
// A single file may be named too: node scripts/test.mjs unit/kernel/backoff
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from './child-environment.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const base = path.join(root, 'build', 'test');

/** The .test.js files at or below a name; node 20 expands no globs and would run every .js file of a folder. */
function testFiles(name) {
  const single = path.join(base, `${name}.test.js`);
  if (existsSync(single)) return [single];
  const folder = path.join(base, name);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => path.join(folder, file))
    .sort();
}

/** Whether these are suites of `npm test`. */
const isQuick = process.argv.slice(2).every((name) => /^(unit|contract|integration)/.test(name));
/** Files at a time: those of `npm test` wait for processes, disks and clocks half of the time. */
const AT_ONCE = isQuick ? 3 : 2;
// The longest are integration tests and come last by name: begun first, they leave no core idle at the end.
const files = process.argv.slice(2).flatMap(testFiles).reverse();
if (files.length === 0) {
  console.error(`no tests found for: ${process.argv.slice(2).join(' ')}`);
  process.exit(1);
}
/** How long these very suites took when they last passed, in seconds. A build empties its own folder. */
const times = path.join(root, 'node_modules', '.cache', 'plugin-broker', 'test-times.json');
const suites = process.argv.slice(2).join(' ');
const known = readTimes();
const last = known[suites];
console.log(
  `${files.length} test files of ${suites}, ${AT_ONCE} at a time; ` +
    (last === undefined ? 'it takes some minutes' : `last time it took ${inWords(last)}`),
);

function readTimes() {
  try {
    return JSON.parse(readFileSync(times, 'utf8'));
  } catch {
    return {};
  }
}

/** Where it cannot be written it is not known next time. */
function keepTimes(all) {
  try {
    mkdirSync(path.dirname(times), { recursive: true });
    writeFileSync(times, JSON.stringify(all));
  } catch {
    // somebody else's folder
  }
}

function inWords(seconds) {
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
}

/** A file that takes longer hangs, and is ended as failed: without this one open handle would hold up everything. */
const HANGS_AFTER_MS = isQuick ? 240_000 : 1_200_000;
const options = [
  '--enable-source-maps',
  '--test',
  `--test-concurrency=${AT_ONCE}`,
  '--test-reporter=spec',
  `--test-timeout=${HANGS_AFTER_MS}`,
];
const startedAt = performance.now();
const child = spawn(process.execPath, [...options, ...files], {
  stdio: 'inherit',
  cwd: root,
  env: childEnvironment,
});
child.on('exit', (code, signal) => {
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  if (code === 0) keepTimes({ ...known, [suites]: seconds });
  process.exit(signal === null ? (code ?? 1) : 1);
});
