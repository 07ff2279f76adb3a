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
    const lost = losses();
    await broker.end('SIGTERM');
    const uninstall = await run(['front', 'uninstall', '--kubelet-dir', kubelet.root]);
    assert.match(uninstall.stdout, /^3 files of the broker removed/m);
    const left = readdirSync(kubelet.root, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      left.filter((name) => path.basename(name).includes('plugin-broker')),
      [],
    );
    assert.equal(losses(), lost, 'the end of the broker cut nobody off');
    await kubelet.restart();
    for (const [pod, times] of Object.entries({ p: 3, q: 2 })) await kubelet.saw('admitted', pod, times);
    await world.listed(2);
    assert.deepEqual(kubelet.of('rejected'), []);
  });
});
