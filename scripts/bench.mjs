// Runs benches of the last build, each as a process of its own, and prints one table:
// node scripts/bench.mjs [NAME…] [--json FILE]
// Figures are judged by people: whatever they are, the exit code is 0 unless a bench itself failed.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { childEnvironment } from './child-environment.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const out = (...parts) => path.join(process.env.PB_OUT ?? root, ...parts);
const folder = out('build', 'test', 'bench');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string', default: out('build', 'bench.json') } },
});

const known = existsSync(folder)
  ? readdirSync(folder)
      .filter((file) => file.endsWith('.js'))
      .map((file) => file.slice(0, -'.js'.length))
      .sort()
  : [];
const wanted = positionals.length === 0 ? known : positionals;
const unknown = wanted.filter((name) => !known.includes(name));
if (known.length === 0 || unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are: ${known.join(', ') || 'none, run npm run build'}`);
  process.exit(2);
}

/** The bare programs as one bundle, made as the broker's: their cost is not the reading of many files. */
await build({
  entryPoints: [path.join(root, 'test', 'support', 'bench', 'floor.ts')],
  outfile: out('build', 'bench', 'floor.cjs'),
  alias: { '@grpc/proto-loader': path.join(root, 'src', 'platform', 'grpc', 'absent-proto-loader.ts') },
  bundle: true,
  format: 'cjs',
  minify: true,
  platform: 'node',
  target: 'node20.19',
  logLevel: 'warning',
});

/** Runs one bench to its end. Gives its rows, and its exit code. */
function run(name) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--enable-source-maps', path.join(folder, `${name}.js`)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: childEnvironment,
    });
    const end = () => process.exit(child.kill() ? 1 : 0);
    process.once('SIGTERM', end).once('SIGINT', end);
    const rows = [];
    let rest = '';
    child.stdout.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { row } = JSON.parse(line);
        rows.push(row);
        print(row);
      }
    });
    child.once('close', (code) => {
      process.off('SIGTERM', end).off('SIGINT', end);
      resolve({ name, code, rows });
    });
  });
}

const WIDTHS = { figure: 74, unit: 12, number: 9 };
const cell = (text, width) => String(text).padStart(width);

function amount(value) {
  if (Number.isNaN(value) || value === null) return '-';
  if (value === 0 || value >= 1000) return String(Math.round(value));
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function line(figure, unit, { min, median, max, runs }, rest = '') {
  const numbers = [min, median, max].map((value) => cell(amount(value), WIDTHS.number)).join('');
  console.log(`${figure.padEnd(WIDTHS.figure)}${cell(unit, WIDTHS.unit)}${numbers}${cell(runs, 6)}${rest}`);
}

function print({ figure, unit, broker, beside, limit }) {
  const verdict = limit === undefined ? '' : `  ${limit.text.padEnd(8)}${limit.isMet ? 'ok' : 'OVER'}`;
  line(figure, unit, broker, verdict);
  for (const { what, value } of beside) {
    line(`    beside: ${what}`, '', value, `  ${amount(broker.median / value.median)} ×`);
  }
}

const began = performance.now();
const [cpu] = os.cpus();
console.log(
  `Node ${process.versions.node}, ${os.cpus().length} × ${cpu?.model ?? 'CPU'}, load ${os.loadavg()[0]?.toFixed(1)}`,
);
const head = ['min', 'median', 'max'].map((word) => cell(word, WIDTHS.number)).join('');
console.log(`${''.padEnd(WIDTHS.figure)}${cell('', WIDTHS.unit)}${head}${cell('runs', 6)}  limit`);
const results = [];
for (const name of wanted) {
  console.log(`\n${name}`);
  results.push(await run(name));
}
const failed = results.filter(({ code }) => code !== 0).map(({ name }) => name);
mkdirSync(path.dirname(values.json), { recursive: true });
const machine = { node: process.version, cpus: os.cpus().length, model: cpu?.model, load: os.loadavg() };
writeFileSync(
  values.json,
  `${JSON.stringify({ machine, benches: results.map(({ name, rows }) => ({ name, rows })) }, null, 2)}\n`,
);
const over = results.flatMap(({ rows }) => rows).filter(({ limit }) => limit?.isMet === false).length;
console.log(`\n${Math.round((performance.now() - began) / 1000)} s, ${over} over their limit, JSON in ${values.json}`);
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
