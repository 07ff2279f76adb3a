import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createConnection } from 'node:net';
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, describe, it } from 'node:test';
import { AdminClient } from '../../../src/platform/grpc/admin-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

/** The broker has 5 s for a start and for an end; the rest is the delay of a busy machine, and of its runtime. */
const START_MS = 7000;
const END_MS = 7000;
/** Steps of a start, each of which is the first that hangs: of taking the lock, of reading the checkpoint, of writing it. */
const STEPS = ['lstat', 'open', 'chmod', 'rename', 'link', 'readdir', 'read', 'write'];

void describe('a disk on which operations in state/ never return', () => {
  const children: ChildProcess[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(plugins.map((plugin) => plugin.stop()));
  });

  function setUp(
    ops: readonly string[] = [],
    settings: object = {},
  ): {
    root: string;
    hang: () => void;
    answer: () => void;
    start: (...args: string[]) => ChildProcess;
    admin: AdminClient;
  } {
    const root = tempDir();
    const [fifo, when] = [path.join(root, 'fifo'), path.join(root, 'now')];
    execFileSync('mkfifo', [fifo]);
    const preload = pathToFileURL(path.join(import.meta.dirname, '..', '..', 'support', 'hanging-disk.js')).href;
    writeFileSync(path.join(root, 'config.yaml'), JSON.stringify({ http: { listen: 'off' }, ...settings }));
    const argv = ['--import', preload, distFile(), 'serve', '--root', root, '--config', path.join(root, 'config.yaml')];
    const below = path.join(root, 'state');
    const env = { ...process.env, HANG_BELOW: below, HANG_WHEN: when, HANG_IN: fifo, HANG_OPS: ops.join(',') };
    return {
      root,
      hang: () => writeFileSync(when, ''),
      answer: () => {
        rmSync(when);
        closeSync(openSync(fifo, 'w'));
      },
      start: (...args) => {
        const child = spawn(process.execPath, [...argv, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
        children.push(child);
        return child;
      },
      admin: new AdminClient(path.join(root, 'broker.sock'), systemClock, new AbortController().signal),
    };
  }

  async function register(root: string, name: string): Promise<void> {
    const socket = path.join(root, 'device-plugins', `${name}.sock`);
    const plugin = await FakePlugin.start({ socket, resource: `example.com/${name}` });
    plugins.push(plugin);
    await plugin.register(path.join(root, 'device-plugins', 'kubelet.sock'));
  }

  /** Leaves a checkpoint with a plugin, and the lock of a broker that was killed. */
  async function servesAPlugin(root: string, start: () => ChildProcess, admin: AdminClient): Promise<void> {
    const child = start();
    await eventually('it is ready', async () => (await admin.status(true)).broker.phase === 'ready');
    await register(root, 'before');
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Waits until somebody listens on kubelet.sock. */
  async function serves(root: string, withinMs: number): Promise<void> {
    const tries = async (): Promise<boolean> => {
      const socket = createConnection(path.join(root, 'device-plugins', 'kubelet.sock'));
      try {
        await once(socket, 'connect');
        return true;
      } finally {
        socket.destroy();
      }
    };
    await eventually('kubelet.sock answers', tries, { withinMs });
  }

  async function endsWithin(child: ChildProcess, limitMs: number, deed: () => void): Promise<void> {
    const ended = once(child, 'exit');
    const from = performance.now();
    deed();
    await Promise.race([
      ended,
      eventually('its end', () => child.exitCode !== null || child.signalCode !== null, { withinMs: limitMs }),
    ]);
    assert.ok(performance.now() - from < limitMs);
  }

  void it('keeps no broker from serving from memory, and from ending', async () => {
    const { root, hang, start, admin } = setUp();
    hang();
    const child = start();
    await serves(root, START_MS);
    await register(root, 'memory');
    const { checkpoint } = await admin.status(true);
    assert.equal(checkpoint.state, 'not-writable');
    await endsWithin(child, END_MS, () => child.kill('SIGTERM'));
  });

  void describe('in one step alone', { concurrency: 4 }, () => {
    for (const op of STEPS) {
      void it(`keeps no broker from serving within restart.deadline, and from ending: ${op}`, async () => {
        const { root, hang, start, admin } = setUp([op]);
        await servesAPlugin(root, start, admin);
        hang();
        const child = start('--takeover');
        await serves(root, START_MS);
        await register(root, 'memory');
        await endsWithin(child, END_MS, () => child.kill('SIGTERM'));
      });
    }
  });

  for (const op of ['open', 'chmod', 'readdir']) {
    void it(`has a lock that comes late given back, and the next look takes it: ${op} hangs`, async () => {
      const { root, hang, answer, start, admin } = setUp([op], { discovery: { rescan: '100ms' } });
      hang();
      const child = start();
      await serves(root, START_MS);
      const isLocked = async (): Promise<boolean> => {
        const { problems } = (await admin.status(true)).broker;
        return !problems.some((problem) => problem.includes('there is no lock'));
      };
      assert.equal(await isLocked(), false);
      answer();
      await eventually('it has its lock', isLocked);
      const second = start();
      const [code] = (await once(second, 'exit')) as [number];
      assert.equal(code, 1, 'another broker is refused');
      await endsWithin(child, END_MS, () => child.kill('SIGTERM'));
      assert.equal(existsSync(path.join(root, 'state', 'lock')), false);
    });
  }

  void it('keeps no broker from serving within restart.deadline, whatever other limits say', async () => {
    const settings = { restart: { deadline: '2s' }, checkpoint: { writeDeadline: '60s' } };
    const { root, hang, start, admin } = setUp(['read'], settings);
    await servesAPlugin(root, start, admin);
    hang();
    const child = start();
    await serves(root, START_MS);
    assert.equal((await admin.status(true)).checkpoint.state, 'not-writable');
    await endsWithin(child, END_MS, () => child.kill('SIGTERM'));
  });

  void it('keeps no broker from ending that began to hang while it ran', async () => {
    const { root, hang, start, admin } = setUp();
    const child = start();
    await eventually('it is ready', async () => (await admin.status(true)).broker.phase === 'ready');
    hang();
    await register(root, 'late');
    await endsWithin(child, END_MS, () => child.kill('SIGTERM'));
  });

  void it('keeps no broker longer from ending where somebody does not end a call either', async () => {
    const { root, hang, start, admin } = setUp();
    const child = start();
    await eventually('it is ready', async () => (await admin.status(true)).broker.phase === 'ready');
    const kubelet = path.join(root, 'device-plugins', 'kubelet.sock');
    const session = connectHttp2('http://localhost', { createConnection: () => createConnection(kubelet) });
    session.on('error', () => undefined);
    const call = session.request(
      {
        ':method': 'POST',
        ':path': '/v1beta1.Registration/Register',
        'content-type': 'application/grpc',
        te: 'trailers',
      },
      { endStream: false },
    );
    call.on('error', () => undefined);
    const answered = new Promise((resolve) => session.ping(resolve));
    await answered; // the call is there, too
    hang();
    await register(root, 'beside');
    await endsWithin(child, END_MS, () => child.kill('SIGTERM'));
    session.destroy();
  });

  void it('is no reason to wait after a second SIGTERM', async () => {
    const { root, hang, start, admin } = setUp();
    const child = start();
    await eventually('it is ready', async () => (await admin.status(true)).broker.phase === 'ready');
    hang();
    await register(root, 'twice');
    child.kill('SIGTERM');
    await eventually('it is stopping', async () => (await admin.status(true)).broker.phase === 'stopping');
    await endsWithin(child, 2000, () => child.kill('SIGTERM'));
  });
});
