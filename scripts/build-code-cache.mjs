// Lets the daemon that was just built start twice, take a plugin in, confirm it and answer an operator, and keeps what V8
// compiled meanwhile beside its bundle (src/platform/process/code-cache.ts). Without the cache everything works, and a
// start takes longer.
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';

const SELF = fileURLToPath(import.meta.url);
const PATIENCE_MS = 20_000;
/** The V8 setting that src/platform/process/small-heap.ts changes, at its default. */
const FLAGS_BEFORE_SMALL_HEAP = ['--heap-growing-percent=0', '--semi-space-growth-factor=2'];
const RESOURCE = 'example.com/warm-up';
const SOCKET = 'warm-up.sock';

/** One protobuf field of a short text or message. */
const field = (number, value) => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
};
const asItIs = (bytes) => bytes;
const inTime = () => ({ deadline: Date.now() + PATIENCE_MS });
const method = (name, responseStream) => ({
  path: name,
  requestStream: false,
  responseStream,
  requestSerialize: asItIs,
  requestDeserialize: asItIs,
  responseSerialize: asItIs,
  responseDeserialize: asItIs,
});

/** A device plugin with one device; gives a function that registers it. */
async function startPlugin(folder) {
  const { Client, credentials, Server, ServerCredentials } = await import('@grpc/grpc-js');
  const server = new Server();
  server.addService(
    {
      options: method('/v1beta1.DevicePlugin/GetDevicePluginOptions', false),
      watch: method('/v1beta1.DevicePlugin/ListAndWatch', true),
      allocate: method('/v1beta1.DevicePlugin/Allocate', false),
    },
    {
      options: (_call, done) => done(null, Buffer.alloc(0)),
      watch: (call) => call.write(field(1, Buffer.concat([field(1, 'device-0'), field(2, 'Healthy')]))),
      allocate: (_call, done) =>
        done(null, field(1, field(1, Buffer.concat([field(1, 'DEVICE'), field(2, 'device-0')])))),
    },
  );
  const bound = (done) =>
    server.bindAsync(`unix:${path.join(folder, SOCKET)}`, ServerCredentials.createInsecure(), done);
  await new Promise((resolve, reject) => bound((failure) => (failure === null ? resolve() : reject(failure))));
  const register = () =>
    new Promise((resolve, reject) => {
      const client = new Client(`unix:${path.join(folder, 'kubelet.sock')}`, credentials.createInsecure());
      const request = Buffer.concat([field(1, 'v1beta1'), field(2, SOCKET), field(3, RESOURCE)]);
      client.makeUnaryRequest('/v1beta1.Registration/Register', asItIs, asItIs, request, inTime(), (failure) => {
        client.close();
        if (failure === null) resolve();
        else reject(failure);
      });
    });
  return { register, stop: () => server.forceShutdown() };
}

/** Asks for a device as a program does that comes back for it: there is a lease at the next start. */
async function take(allocSocket) {
  const { Client, credentials } = await import('@grpc/grpc-js');
  const client = new Client(`unix:${allocSocket}`, credentials.createInsecure());
  const request = Buffer.concat([field(1, field(1, RESOURCE)), field(3, 'warm-up')]);
  await new Promise((resolve, reject) => {
    client.makeUnaryRequest('/pluginbroker.v1.Allocator/Allocate', asItIs, asItIs, request, inTime(), (failure) =>
      failure === null ? resolve() : reject(failure),
    );
  }).finally(() => client.close());
}

/** Asks as an operator does, and reads the answer to its end. */
async function look(brokerSocket, path) {
  const { Client, credentials } = await import('@grpc/grpc-js');
  const client = new Client(`unix:${brokerSocket}`, credentials.createInsecure());
  await new Promise((resolve, reject) => {
    const call = client.makeServerStreamRequest(path, asItIs, asItIs, Buffer.alloc(0), inTime());
    call
      .on('data', () => undefined)
      .on('end', resolve)
      .on('error', reject);
  }).finally(() => client.close());
}

/** Waits for things until a moment that is one for all of them. */
function waiting(latest) {
  return async (what, isTrue) => {
    while (!isTrue()) {
      if (performance.now() > latest) throw new Error(`never happened: ${what}`);
      await pause(10);
    }
  };
}

/** One life of the daemon; it writes its cache when it is told. */
function startDaemon(out, root, env) {
  const child = fork(SELF, [out, root], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [], env });
  const life = { child, log: '', isOver: false };
  child.stderr.on('data', (chunk) => (life.log += chunk));
  child.once('exit', () => (life.isOver = true));
  return life;
}

async function end(life) {
  life.child.kill('SIGKILL');
  await new Promise((resolve) => (life.isOver ? resolve() : life.child.once('exit', resolve)));
}

/**
 * Writes the code cache of the daemon's bundle. Says why where it cannot: that is no reason to have no build.
 *
 * @param out the folder that holds dist/ and build/
 */
export async function buildCodeCache(out) {
  const root = mkdtempSync(path.join(os.tmpdir(), 'pb-'));
  const env = { ...process.env, NODE_OPTIONS: '' };
  const until = waiting(performance.now() + PATIENCE_MS);
  const lives = [];
  let plugin;
  try {
    writeFileSync(
      path.join(root, 'config.yaml'),
      'http:\n  listen: 127.0.0.1:0\nlog:\n  format: json\ncdi:\n  dir: cdi\n',
    );
    const first = startDaemon(out, root, env);
    lives.push(first);
    const devicePlugins = path.join(root, 'device-plugins');
    await until('the daemon starts', () => first.isOver || existsSync(path.join(devicePlugins, 'kubelet.sock')));
    if (first.isOver) throw new Error(first.log);
    plugin = await startPlugin(devicePlugins);
    await plugin.register();
    const checkpoint = path.join(root, 'state', 'checkpoint.json');
    await until('its list is on disk', () => readFileSync(checkpoint, 'utf8').includes('"list"'));
    await take(path.join(root, 'alloc.sock'));
    await end(first);
    const second = startDaemon(out, root, env);
    lives.push(second);
    await until('it is confirmed', () => second.isOver || second.log.includes('"broker.restored"'));
    if (second.isOver) throw new Error(second.log);
    // The code that the first callers after a start run through.
    for (const question of ['Status', 'ListResources']) {
      await look(path.join(root, 'broker.sock'), `/pluginbroker.v1.Admin/${question}`);
    }
    await plugin.register();
    second.child.send('write');
    await until('the cache is written', () => second.isOver);
    if (second.child.exitCode !== 0) throw new Error(second.log);
  } catch (failure) {
    console.warn(`no code cache, starts take longer: ${failure.message}`);
  } finally {
    await Promise.all(lives.map(end));
    plugin?.stop();
    rmSync(root, { recursive: true, force: true });
  }
}

/** The daemon in this process. */
async function runDaemon(out, root) {
  const { openBundle } = await import(path.join(out, 'build', 'src', 'platform', 'process', 'code-cache.js'));
  const bundle = openBundle(path.join(out, 'dist', 'serve.cjs'));
  const flags = cachedDataVersionTag();
  void bundle.run().serve(['--root', root, '--config', path.join(root, 'config.yaml')]);
  process.once('message', () => {
    // V8 takes a cache only under the flags that it was made with: as they are before the daemon sets its own.
    for (const flag of FLAGS_BEFORE_SMALL_HEAP) setFlagsFromString(flag);
    if (cachedDataVersionTag() !== flags) throw new Error('the daemon sets V8 flags that are not given back here');
    const cache = bundle.cacheFile();
    writeFileSync(cache.path, cache.bytes);
    process.exit(0);
  });
}

if (process.argv[1] === SELF) await runDaemon(process.argv[2], process.argv[3]);
