// Runs the compiled tests of the named folders below test/ with node's own runner: node scripts/test.mjs unit contract
// A single file may be named too: node scripts/test.mjs unit/kernel/backoff
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { childEnvironment } from './child-environment.mjs';
import { testFiles } from './test-files.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const base = path.join(root, 'build', 'test');

/** Whether all their files are done within minutes. */
const isQuick = process.argv.slice(2).every((name) => /^(unit|contract|integration|scenarios)/.test(name));
/** Files at a time: those of `npm test` wait for processes, disks and clocks half of the time. */
const AT_ONCE = isQuick ? 4 : 2;
// The longest suites are named last: begun first, they leave no core idle at the end.
const files = process.argv
  .slice(2)
  .flatMap((name) => testFiles(base, name))
  .reverse();
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
/** Failed files that CI tries again: more than a few are no accident of a busy machine. */
const MOST_AGAIN = 3;
const report = path.join(mkdtempSync(path.join(os.tmpdir(), 'pb-test-')), 'failed.json');

/** Runs files with the runner. Resolves with its exit code. */
function run(some) {
  const more = [
    '--test-reporter-destination=stdout',
    `--test-reporter=${pathToFileURL(path.join(root, 'scripts', 'failed-files.mjs')).href}`,
    `--test-reporter-destination=${report}`,
  ];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...options, ...more, ...some], {
      stdio: 'inherit',
      cwd: root,
      env: childEnvironment,
    });
    child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
  });
}

/** The last run's report of failures; nothing where it was ended. */
function failures() {
  try {
    const { files: failed, count } = JSON.parse(readFileSync(report, 'utf8'));
    // The runner names a file by its source or by its compiled form.
    const stemOf = (file) => file.slice(file.lastIndexOf('/test/')).replace(/\.[jt]s$/, '');
    const stems = new Set(failed.map(stemOf));
    return { again: files.filter((file) => stems.has(stemOf(file))), count };
  } catch {
    return { again: [], count: 0 };
  }
}

const startedAt = performance.now();
let code = await run(files);
if (code === 0) keepTimes({ ...known, [suites]: Math.round((performance.now() - startedAt) / 1000) });
const { again, count } = failures();
// A busy machine must not keep a change out; but the reader is told which test depends on it.
if (code !== 0 && process.env.CI !== undefined && again.length > 0 && again.length <= MOST_AGAIN) {
  const names = again.map((file) => path.relative(base, file)).join(', ');
  console.log(`\nFAILED, tried once more alone: ${names}`);
  code = await run(again);
  if (code === 0) console.log(`FLAKY, failed at first and passed alone, to be mended: ${names}\nℹ flaky ${count}`);
}
rmSync(path.dirname(report), { recursive: true, force: true });
process.exit(code);
