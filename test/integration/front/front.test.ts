import assert from 'node:assert/strict';
import { chmodSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { frontWorlds, RESOURCE } from '../../support/front-world.js';
import { run } from '../../support/program.js';

describe('a plugin behind the broker in front of a kubelet', { timeout: 120_000 }, () => {
  const newWorld = frontWorlds();

  it('serves pods of the kubelet: its devices are listed, and its answers reach the container', async () => {
    const world = newWorld();
    const plugin = await world.start({ devices: 2, preStart: true, preferredAllocation: true });
    world.kubelet.create('p', { [RESOURCE]: 2 });
    const { devices, envs } = await world.kubelet.saw('container-started', 'p');
    assert.deepEqual(devices, { [RESOURCE]: ['dev-0', 'dev-1'] });
    assert.deepEqual(Object.values(envs as object), ['dev-0,dev-1']);
    const methods = plugin.of('called').map(({ method }) => method);
    for (const method of ['GetPreferredAllocation', 'Allocate', 'PreStartContainer'])
      assert.ok(methods.includes(method), method);
    assert.deepEqual([...world.gates()], [true], 'the plugin wants PreStartContainer');
  });

  it('is not asked before a container starts, and holds none up, where it does not want PreStartContainer', async () => {
    const world = newWorld();
    const plugin = await world.start();
    await world.pod('p');
    assert.deepEqual([...world.gates()], [false]);
    assert.ok(plugin.of('called').every(({ method }) => method !== 'PreStartContainer'));
  });

  it('answers the kubelet with what its plugin answers while the broker stops, and says so where it does not', async () => {
    const world = newWorld();
    const fault = (act: object) => ({ fault: [{ method: 'Allocate', first: 1, act }] }) as never;
    const slow = await world.start(fault({ kind: 'delay', ms: 700 }));
    const asked = (plugin: typeof slow) =>
      eventually('Allocate has arrived', () => plugin.of('called').some(({ method }) => method === 'Allocate'));
    world.kubelet.create('p', { [RESOURCE]: 1 });
    await asked(slow);
    assert.equal(await world.broker.end('SIGTERM'), 0);
    await world.kubelet.saw('container-started', 'p');
    await slow.stop();
    const silent = world.plugin(fault({ kind: 'never' }));
    await world.broker.start();
    await world.listed(2);
    world.kubelet.create('q', { [RESOURCE]: 1 });
    await asked(silent);
    assert.equal(await world.broker.end('SIGTERM'), 0);
    const { message } = await world.kubelet.saw('rejected', 'q');
    assert.match(String(message), /example.com\/sim: the broker is stopping/);
  });

  it('is not offered where others may write a directory of the kubelet, and status says so until that is mended', async () => {
    const world = newWorld();
    await world.kubelet.start();
    chmodSync(world.kubelet.devicePlugins, 0o757);
    await world.broker.start();
    world.plugin();
    const shown = await eventually('status names it', async () => {
      const { stdout } = await run(['status', '--root', world.broker.root]);
      return stdout.includes('chown root:root, chmod go-w') && stdout;
    });
    assert.match(shown, /! example\.com\/sim is refused: .* may be written by everybody/);
    chmodSync(world.kubelet.devicePlugins, 0o755);
    await world.listed(2);
  });

  it('leaves nothing in the directories of the kubelet after front uninstall, which waits for the end of the broker', async () => {
    const world = newWorld();
    await world.start();
    await eventually('the entry is there', () => readdirSync(world.kubelet.registry).length === 1);
    writeFileSync(path.join(world.kubelet.registry, 'plugin-broker-foreign.sock'), '');
    const strange = 'plugin-broker-\u001b[31m\nremoved everything.sock';
    symlinkSync(path.join('..', 'plugins', 'plugin-broker', 'x'), path.join(world.kubelet.registry, strange));
    const early = await run(['front', 'uninstall', '--kubelet-dir', world.kubelet.root]);
    assert.equal(early.code, 1);
    assert.match(early.stderr, /a broker still serves .*: stop it/);
    await world.broker.end('SIGTERM');
    const late = await run(['front', 'uninstall', '--kubelet-dir', world.kubelet.root]);
    assert.equal(late.code, 0, late.stderr);
    assert.deepEqual(readdirSync(world.kubelet.registry).sort(), [strange, 'plugin-broker-foreign.sock']);
    assert.doesNotMatch(late.stdout, /everything/);
    assert.deepEqual(readdirSync(path.join(world.kubelet.root, 'plugins')), []);
    assert.equal(readdirSync(world.kubelet.devicePlugins).includes('plugin-broker'), false);
  });
});
