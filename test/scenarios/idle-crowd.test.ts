import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin } from '../support/fake-plugin.js';
import { tempDir } from '../support/temp-dir.js';

/** More than `flood.connections.total` together, fewer than `perProcess` each. */
const PROCESSES = 10;
const EACH = 250;

void describe('ten processes with 250 idle connections each', () => {
  const broker = new BrokerProcess(tempDir(), { log: { level: 'error' } });
  const holders: ChildProcess[] = [];
  const plugins: FakePlugin[] = [];
  before(() => broker.start());
  after(async () => {
    for (const holder of holders) holder.kill('SIGKILL');
    for (const plugin of plugins) await plugin.stop();
    await broker.close();
  });

  void it('keep no newcomer out, and status tells of them until they have gone', async () => {
    const file = path.join(import.meta.dirname, '..', 'support', 'idle-connections.js');
    for (let nth = 0; nth < PROCESSES; nth++) {
      holders.push(spawn(process.execPath, [file, broker.kubeletSocket, String(EACH)], { stdio: 'ignore' }));
    }
    await eventually('status tells of them', async () => {
      const { phase, problems } = (await broker.status()).broker;
      return phase === 'degraded' && /all \d+ connections/.test(problems.join());
    });
    for (let nth = 0; nth < 20; nth++) {
      const resource = `example.com/newcomer-${String(nth)}`;
      const socket = path.join(broker.devicePlugins, `newcomer-${String(nth)}.sock`);
      const plugin = await FakePlugin.start({ socket, resource });
      plugins.push(plugin);
      await plugin.register(broker.kubeletSocket);
      await eventually(`${resource} is in`, async () => (await broker.allocatable(resource)) === 2);
    }
    const { phase, problems } = (await broker.status()).broker;
    assert.equal(phase, 'degraded', problems.join());
    for (const holder of holders) holder.kill('SIGKILL');
    await eventually('there is room again', async () => (await broker.status()).broker.phase === 'ready');
  });
});
