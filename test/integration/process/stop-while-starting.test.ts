import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

/** The files that a start makes, in its order: each is a moment at which somebody may change their mind. */
const MADE = ['state', 'broker.sock', 'device-plugins/kubelet.sock'];

describe('a broker that is told to stop while it starts', () => {
  for (const made of MADE) {
    it(`ends cleanly when ${made} has just been made, and starts again`, async () => {
      const broker = new BrokerProcess(tempDir());
      const child = broker.spawn();
      const exited = once(child, 'exit');
      while (!existsSync(path.join(broker.root, made)) && child.exitCode === null) await nextTurn();
      child.kill('SIGTERM');
      const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null];
      assert.ok(code === 0 || signal === 'SIGTERM', `${String(code)} ${String(signal)}: ${broker.log}`);
      await broker.start();
      assert.equal(await broker.end('SIGTERM'), 0);
      await broker.close();
    });
  }

  it('ends at once while it waits for a predecessor, whose checkpoint it leaves as it is', async () => {
    const broker = new BrokerProcess(tempDir());
    await broker.start();
    const plugin = await FakePlugin.start({ socket: path.join(broker.devicePlugins, 'fake.sock') });
    await plugin.register(broker.kubeletSocket);
    await broker.onDisk(plugin.resource);
    // A stopped process holds the lock and answers nobody.
    process.kill(broker.pid ?? 0, 'SIGSTOP');
    const successor = broker.spawn(['--takeover']);
    const exited = once(successor, 'exit');
    await eventually('it asks who holds the lock', () => ofLock(broker.root) > 1);
    successor.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.match(broker.log, /told to stop before it had begun/);
    await broker.onDisk(plugin.resource);
    await broker.close();
    await plugin.stop();
  });
});

/** Connections to the lock, of those that are not closed on both sides; the listening socket itself counts for one. */
function ofLock(root: string): number {
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n');
  return lines.filter((line) => line.includes(path.join(root, 'state'))).length;
}
