import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Child } from '../support/child.js';
import { distFile } from '../support/dist.js';
import { run } from '../support/program.js';
import { Broker } from './support/broker.js';
import { buildCdiReader } from './support/programs.js';
import { missing } from './support/tools.js';

const GPU = 'example.com/gpu';

/** The part of a container's configuration that devices change. */
interface Container {
  readonly process: { readonly env: readonly string[] };
  readonly mounts: readonly {
    readonly source: string;
    readonly destination: string;
    readonly options: readonly string[];
  }[];
  readonly linux: {
    readonly devices: readonly { readonly path: string; readonly major: number; readonly minor: number }[];
  };
}

describe('a container engine with the CDI library of Debian 12', { skip: missing('cdi') }, () => {
  it('gives a container the device node, the mount and the variables of a lease by its name', async () => {
    const broker = await Broker.start('cdi: {dir: cdi}\n');
    const options = ['--allocate-device', '/dev/null:/dev/acc0:rw', '--allocate-mount', '/etc:/opt/acc:ro'];
    const sim = new Child({ command: process.execPath, args: [distFile(), 'sim', 'device'], env: {} }, [
      ...['--resource', GPU, '--dir', broker.devicePlugins, '--allocate-env', 'ACC={ids}', ...options],
    ]);
    await broker.resource(GPU, 'its devices', ({ allocatable }) => allocatable === 2);
    const allocate = ['allocate', '--root', broker.root, '--key', 'job', '--device', GPU, '-o', 'cdi'];
    const { stdout: name } = await run(allocate);
    assert.match(name, /^plugin-broker\/lease=[0-9a-z]{26}\n$/);
    const reader = new Child(buildCdiReader(), ['--directory', path.join(broker.root, 'cdi'), name.trim()]);
    assert.equal(await reader.end(), 0, reader.story);
    const container = JSON.parse(reader.lines.join('')) as Container;
    const [device] = container.linux.devices;
    assert.deepEqual([device?.path, device?.major, device?.minor], ['/dev/acc0', 1, 3]);
    assert.deepEqual(
      container.mounts.map(({ source, destination, options: how }) => [source, destination, how]),
      [['/etc', '/opt/acc', ['rbind', 'ro']]],
    );
    assert.ok(container.process.env.includes('ACC=dev-0'));
    assert.ok(container.process.env.includes(`PLUGIN_BROKER_DEVICES=${GPU}=dev-0`));
    await sim.stop();
    assert.equal(await broker.stop(), 0);
  });
});
