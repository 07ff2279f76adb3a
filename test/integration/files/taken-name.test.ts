import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { killedListener, noKilledListener } from '../../support/peer/killed-listener.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';
import { TestRegistry } from '../sim/test-registry.js';

void describe('kubelet.sock', () => {
  void it('that somebody renames to and fro is told, and plugins that restart themselves for it stay allocatable', async () => {
    const told: (string | undefined)[] = [];
    const degraded = (what: string, why: string | undefined): void => {
      if (what === 'kubelet.sock') told.push(why);
    };
    const one = await startTestBroker(tempDir(), undefined, { degraded });
    const directory = path.dirname(one.kubeletSocket);
    const victim = await FakePlugin.start({ socket: path.join(directory, 'gpu.sock'), resource: 'example.com/gpu' });
    await victim.register(one.kubeletSocket);
    await eventually('it serves', () => one.counts('example.com/gpu')?.allocatable === 2);
    await eventually('it is told', () => {
      renameSync(one.kubeletSocket, path.join(directory, '.k'));
      renameSync(path.join(directory, '.k'), one.kubeletSocket);
      return told.some((why) => why?.includes('renamed there and back'));
    });
    await victim.stop();
    await eventually('it is away', () => one.plugins()[0]?.state !== 'ready');
    assert.equal(one.counts('example.com/gpu')?.allocatable, 2);
    await one.stop();
  });
});

void describe('a living socket that somebody renamed to kubelet.sock', () => {
  const brokers: TestBroker[] = [];
  const plugins: FakePlugin[] = [];
  const registries: TestRegistry[] = [];
  const told: (string | undefined)[] = [];
  after(async () => {
    await Promise.all(plugins.map((one) => one.stop()));
    await Promise.all(registries.map((one) => one.stop()));
    await Promise.all(brokers.map((one) => one.stop()));
  });
  async function broker(root = tempDir()): Promise<TestBroker> {
    const degraded = (what: string, why: string | undefined): void => {
      if (what === 'kubelet.sock') told.push(why);
    };
    const one = await startTestBroker(root, undefined, { degraded });
    brokers.push(one);
    return one;
  }
  async function plugin(socket: string, resource: string): Promise<FakePlugin> {
    const one = await FakePlugin.start({ socket, resource });
    plugins.push(one);
    return one;
  }

  void it('and is a plugin, gives the name back to a broker that runs', async () => {
    const one = await broker();
    const victim = await plugin(path.join(path.dirname(one.kubeletSocket), 'gpu.sock'), 'example.com/gpu');
    await victim.register(one.kubeletSocket);
    renameSync(victim.socket, one.kubeletSocket);
    const other = await plugin(path.join(path.dirname(one.kubeletSocket), 'nic.sock'), 'example.com/nic');
    await eventually('others can register', async () => {
      await other.register(one.kubeletSocket);
      return true;
    });
    assert.equal(one.counts('example.com/gpu')?.allocatable, 2, 'it is missed at its path alone');
  });

  void it('and is a plugin, keeps no broker from starting', async () => {
    const root = tempDir();
    const first = await broker(root);
    await first.stop();
    brokers.pop();
    await plugin(first.kubeletSocket, 'example.com/gpu');
    const one = await broker(root);
    const other = await plugin(path.join(path.dirname(one.kubeletSocket), 'nic.sock'), 'example.com/nic');
    await other.register(one.kubeletSocket);
  });

  void it(
    'and is of a broker that was killed, and cannot end yet, is replaced',
    { skip: noKilledListener() },
    async () => {
      const root = tempDir();
      const first = await broker(root);
      await first.stop();
      brokers.pop();
      rmSync(first.kubeletSocket);
      const killed = await killedListener(first.kubeletSocket);
      const one = await broker(root).finally(() => killed.kill('SIGKILL'));
      const other = await plugin(path.join(path.dirname(one.kubeletSocket), 'nic.sock'), 'example.com/nic');
      await other.register(one.kubeletSocket);
    },
  );

  void it('and is a registry of plugins, keeps the name: there is a kubelet, or another broker', async () => {
    const one = await broker();
    const elsewhere = tempDir();
    const registry = await TestRegistry.start(elsewhere);
    registries.push(registry);
    registry.verdict = () => ({ code: status.UNKNOWN, details: 'the ResourceName "" is invalid' });
    renameSync(path.join(elsewhere, 'kubelet.sock'), one.kubeletSocket);
    await eventually('it is told', () => told.some((why) => why?.includes('another process listens there')));
    const other = await plugin(path.join(path.dirname(one.kubeletSocket), 'dpu.sock'), 'example.com/dpu');
    await assert.rejects(other.register(one.kubeletSocket), /the ResourceName "" is invalid/);
  });
});
