import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createConnection } from 'node:net';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, describe, it } from 'node:test';
import { AdminClient } from '../../../src/platform/grpc/admin-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

/** Limits that a busy machine keeps, too; the broker has 5 s for a start and for an end. */
const START_MS = 15_000;
const END_MS = 15_000;
/** Five seconds, and the delay of a busy machine: calls in flight and a disk had eight of their own. */
const WHOLE_END_MS = 7000;

void describe('a disk on which operations in state/ never return', () => {
  const children: ChildProcess[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(plugins.map((plugin) => plugin.stop()));
  });

  function setUp(): { root: string; hang: () => void; start: () => ChildProcess; admin: AdminClient } {
    const root = tempDir();
    const [fifo, when] = [path.join(root, 'fifo'), path.join(root, 'now')];
    execFileSync('mkfifo', [fifo]);
    const preload = pathToFileURL(path.join(import.meta.dirname, '..', '..', 'support', 'hanging-disk.js')).href;
    writeFileSync(path.join(root, 'config.yaml'), JSON.stringify({ http: { listen: 'off' } }));
    const argv = ['--import', preload, distFile(), 'serve', '--root', root, '--config', path.join(root, 'config.yaml')];
    const env = { ...process.env, HANG_BELOW: path.join(root, 'state'), HANG_WHEN: when, HANG_IN: fifo };
    return {
      root,
      hang: () => writeFileSync(when, ''),
      start: () => {
        const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'ignore', 'inherit'] });
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
    const kubelet = path.join(root, 'device-plugins', 'kubelet.sock');
    await eventually('kubelet.sock is there', () => existsSync(kubelet), { withinMs: START_MS });
    await register(root, 'memory');
    const { checkpoint } = await admin.status(true);
    assert.equal(checkpoint.state, 'not-writable');
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
    await endsWithin(child, WHOLE_END_MS, () => child.kill('SIGTERM'));
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
