import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { RESOURCE } from '../../support/front-world.js';
import { run } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';
import { RunningSim } from '../../support/running-sim.js';

describe('a broker in front of another broker', { timeout: 60_000 }, () => {
  const closing: (() => Promise<unknown>)[] = [];
  after(async () => {
    for (const close of closing.reverse()) await close();
  });

  it('a lease at the outer one reaches the plugin behind the inner one', async () => {
    const outer = new BrokerProcess(tempDir(), { cdi: { dir: 'off' } });
    closing.push(() => outer.close());
    await outer.start();
    const inner = new BrokerProcess(tempDir(), {
      front: { enabled: true, kubeletDir: outer.root, doors: 'register' },
    });
    closing.push(() => inner.close());
    await inner.start();
    const plugin = new RunningSim(inner.devicePlugins, { registry: inner.registry });
    closing.push(() => plugin.stop());
    await eventually('the outer broker has the devices', async () => (await outer.allocatable(RESOURCE)) === 2);
    const lease = await run(['allocate', '--root', outer.root, '--device', RESOURCE, '--key', 'k', '-o', 'env']);
    assert.equal(lease.code, 0, lease.stderr);
    assert.ok(plugin.of('called').some(({ method }) => method === 'Allocate'));
    assert.match(lease.stdout, /dev-\d/);
    assert.deepEqual(readdirSync(outer.registry), [], 'with doors: register there is no entry');
  });
});
