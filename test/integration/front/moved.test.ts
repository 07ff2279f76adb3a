import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FrontWorld, RESOURCE } from '../../support/front-world.js';
import { run } from '../../support/program.js';

describe('a plugin that is moved behind the broker and back, as docs/in-front-of-a-kubelet.md says', () => {
  const world = new FrontWorld();
  after(() => world.close());

  it('keeps its pods through every step and both restarts, and has its devices with the kubelet in the end', async () => {
    const { kubelet, broker } = world;
    const command = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await run([...args, '--root', broker.root]);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const registered = (): readonly Record<string, unknown>[] => kubelet.of('registered', RESOURCE);
    /** Both registrations of the front, of those after the first so many: a kubelet that loses us between the two tells of neither. */
    const bothDoors = (after: number): Promise<unknown> =>
      eventually('the front is registered by both doors', () => {
        const doors = new Set(
          registered()
            .slice(after)
            .map(({ door }) => door),
        );
        return doors.has('register') && doors.has('registry');
      });
    await kubelet.start();
    const before = world.pluginPastUs();
    await world.listed(2);
    await world.pod('p');

    let known = registered().length;
    await broker.start();
    await before.stop();
    await kubelet.saw('disconnected', RESOURCE);
    const behind = world.plugin();
    await world.listed(2);
    await eventually('the broker knows the pod of before', async () => (await command('allocations')).includes('/p/'));

    await bothDoors(known);
    await broker.onDisk(RESOURCE);
    await broker.end('SIGKILL');
    await kubelet.saw('disconnected', RESOURCE, 2);
    await broker.start();
    await world.listed(2);
    known = registered().length;
    await kubelet.restart();
    await world.listed(2);
    await kubelet.saw('admitted', 'p', 2);
    await bothDoors(known);

    const losses = (): number => kubelet.of('disconnected', RESOURCE).length;
    const lostBefore = losses();
    await command('deregister', RESOURCE, '--force');
    await eventually('the broker has left the kubelet', () => losses() > lostBefore);
    await behind.stop();
    world.pluginPastUs();
    await world.listed(2);
    await world.pod('q');
    // The entry in the registry is still there: it must not stand in the plugin's way when the kubelet restarts.
    const asked = kubelet.of('registry-failed').length;
    await kubelet.restart();
    for (const [pod, times] of Object.entries({ p: 3, q: 2 })) await kubelet.saw('admitted', pod, times);
    await world.listed(2);
    await eventually('the kubelet was told to come again', () => kubelet.of('registry-failed').length > asked);
    assert.match(String(kubelet.of('registry-failed').at(-1)?.['message']), /the broker has no devices of it now/);
    const lost = losses();
    await broker.end('SIGTERM');
    const uninstall = ['front', 'uninstall', '--kubelet-dir', kubelet.root];
    const refused = await run(uninstall);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /the kubelet has example\.com\/sim from elsewhere .* stop the kubelet while you run this/,
    );
    assert.equal(losses(), lost, 'the end of the broker cut nobody off');
    process.kill(kubelet.pid, 'SIGSTOP');
    const unsaid = await run(uninstall);
    process.kill(kubelet.pid, 'SIGCONT');
    assert.equal(unsaid.code, 1);
    assert.match(unsaid.stderr, /a kubelet runs here and does not say which resources it has .* stop the kubelet/);
    assert.equal(losses(), lost, 'nothing was removed under a kubelet that hung');
    await kubelet.end();
    const removed = await run(uninstall);
    assert.match(removed.stdout, /^3 files of the broker removed/m);
    const left = readdirSync(kubelet.root, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      left.filter((name) => path.basename(name).includes('plugin-broker')),
      [],
    );
    await kubelet.start();
    for (const [pod, times] of Object.entries({ p: 4, q: 3 })) await kubelet.saw('admitted', pod, times);
    await world.listed(2);
    assert.deepEqual(kubelet.of('rejected'), []);
  });
});
