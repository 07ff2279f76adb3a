import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { startCommand, type Running } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const UID = 54321;
const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can start a broker as another user';

void describe("a broker of an ordinary user, before root's sockets of mode 0600", { skip }, () => {
  const running: Running[] = [];
  const plugins: FakePlugin[] = [];
  after(async () => {
    for (const { child } of running) child.kill('SIGKILL');
    await Promise.all(plugins.map((one) => one.stop()));
  });

  async function broker(...more: readonly string[]): Promise<{ root: string; said: () => string }> {
    const root = tempDir();
    for (const name of ['', 'device-plugins', 'plugins_registry', 'plugins', 'state']) {
      mkdirSync(path.join(root, name), { recursive: true });
      chownSync(path.join(root, name), UID, UID);
    }
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-broker.js');
    const program = startCommand(process.execPath, [file, String(UID), root, ...more]);
    running.push(program);
    await eventually(`it serves ${program.stderr()}`, () => program.stdout().endsWith('serving\n'));
    return { root, said: () => program.stdout() };
  }

  async function plugin(socket: string, mode: number, over: object = {}): Promise<FakePlugin> {
    // It has its mode before the broker can see it.
    const unseen = path.join(tempDir(), 'x.sock');
    const one = await FakePlugin.start({ socket: unseen, resource: 'example.com/barred', ...over });
    plugins.push(one);
    chmodSync(unseen, mode);
    renameSync(unseen, socket);
    return one;
  }

  /** The end of the sentence, which names both users. */
  const remedy = (socket: string): string =>
    `the broker runs as uid ${String(UID)} and may not connect to ${socket} (EACCES); run the broker as root, which the socket belongs to, or let the plugin open it to uid ${String(UID)}`;

  for (const [how, ...more] of [['as the kernel tells'], ['without koffi', 'without-koffi']] as const) {
    void it(`says at the Register door who would have to run as whom, ${how}`, async () => {
      const { root } = await broker(...more);
      const socket = path.join(root, 'device-plugins', 'barred.sock');
      const one = await plugin(socket, 0o600);
      const registered = one.register(path.join(root, 'device-plugins', 'kubelet.sock'), { endpoint: 'barred.sock' });
      await assert.rejects(registered, (failure: Error) => {
        assert.match(failure.message, /PERMISSION_DENIED: NOT_PERMITTED: example\.com\/barred/);
        return failure.message.includes(remedy(socket)) || assert.fail(failure.message);
      });
    });

    void it(`says at the watcher door who would have to run as whom, ${how}`, async () => {
      const { root, said } = await broker(...more);
      const socket = path.join(root, 'plugins_registry', 'barred.sock');
      const one = await plugin(socket, 0o600, { door: 'watcher' });
      await eventually('it is refused', () => said().includes('"NOT_PERMITTED"'));
      assert.ok(said().includes(`${socket}: GetInfo failed: ${remedy(socket)}`), said());
      assert.equal(one.count('GetInfo'), 0);
    });

    void it(`says of a driver's service socket who would have to run as whom, ${how}`, async () => {
      const { root } = await broker(...more);
      const endpoint = path.join(root, 'plugins', 'csi.sock');
      await plugin(endpoint, 0o600);
      const info = { type: 'CSIPlugin', endpoint, name: 'csi.example.com', supportedVersions: ['1.0.0'] };
      const one = await plugin(path.join(root, 'plugins_registry', 'csi.sock'), 0o777, { door: 'watcher', info });
      await eventually('it is told', () => one.notified.length > 0);
      assert.match(one.notified[0] ?? '', /^NOT_PERMITTED: /);
      assert.ok(one.notified[0]?.includes(remedy(endpoint)), one.notified[0]);
    });
  }
});
