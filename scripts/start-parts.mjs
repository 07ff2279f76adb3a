// The gain of each mechanism that makes a start of the daemon short: the time from the start of its process to the first answered
// call at kubelet.sock, with it and without it. `--build` makes the daemons that lack one (PB_WITHOUT); without it they are
// started in turns, so that a machine that becomes slower makes all of them slower.
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const PARTS = ['', 'code cache', 'lazy bundles', 'own schema check', 'own metrics', 'stub of proto-loader'];
const ROUNDS = 17;
const PATIENCE_MS = 10_000;
// Below node_modules/, so that packages are found as usual.
const folderOf = (part) => path.join(root, 'node_modules', '.cache', 'start-parts', part.replaceAll(' ', '-') || 'all');

if (process.argv.includes('--build')) {
  for (const part of PARTS) {
    const env = { ...process.env, PB_OUT: folderOf(part), PB_WITHOUT: part };
    // The daemon reads its version there.
    mkdirSync(folderOf(part), { recursive: true });
    copyFileSync(path.join(root, 'package.json'), path.join(folderOf(part), 'package.json'));
    const { status } = spawnSync(process.execPath, [path.join(root, 'scripts', 'build.mjs')], {
      env,
      stdio: 'inherit',
    });
    if (status !== 0) process.exit(1);
  }
  process.exit(0);
}

/** A Register call of a version that nobody has: it is answered at once. Resolves when it is. */
function call(socket) {
  const bytes = (value) => value;
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  const deadline = Date.now() + PATIENCE_MS;
  const request = Buffer.concat([Buffer.from([10, 2]), Buffer.from('v0'), Buffer.from([18, 1]), Buffer.from('a')]);
  return new Promise((resolve) => {
    client.makeUnaryRequest('/v1beta1.Registration/Register', bytes, bytes, request, { deadline }, (answer) => {
      client.close();
      resolve(answer?.code);
    });
  });
}

/** One cold start, in milliseconds. */
async function start(part) {
  const home = mkdtempSync(path.join(os.tmpdir(), 'pb-'));
  const config = path.join(home, 'config.yaml');
  writeFileSync(config, 'http:\n  listen: 127.0.0.1:0\n');
  const program = path.join(folderOf(part), 'dist', 'plugin-broker.cjs');
  const socket = path.join(home, 'device-plugins', 'kubelet.sock');
  const from = performance.now();
  const child = spawn(process.execPath, [program, 'serve', '--root', home, '--config', config], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: 'ignore',
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  while (!existsSync(socket) && performance.now() - from < PATIENCE_MS) await pause(1);
  const code = await call(socket);
  const took = performance.now() - from;
  child.kill('SIGTERM');
  await exited;
  rmSync(home, { recursive: true, force: true });
  if (code !== 3) throw new Error(`${part}: Register was answered with ${String(code)}`);
  return took;
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const times = new Map(PARTS.map((part) => [part, []]));
for (let round = 0; round < ROUNDS; round += 1) {
  for (const part of PARTS) {
    const took = await start(part);
    if (round > 0) times.get(part).push(took);
  }
}
const all = median(times.get(''));
console.log(`start to the first answered call, median of ${ROUNDS - 1}: ${all.toFixed(1)} ms`);
for (const part of PARTS.slice(1)) {
  const gains = times.get(part).map((took, round) => took - times.get('')[round]);
  console.log(`without ${part}: ${median(times.get(part)).toFixed(1)} ms, gain ${median(gains).toFixed(1)} ms`);
}
