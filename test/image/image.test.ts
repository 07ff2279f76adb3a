import assert from 'node:assert/strict';
import { chmodSync, existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Child } from '../support/child.js';
import { buildRoot, distFile } from '../support/dist.js';
import { eventually } from '../support/eventually.js';
import { tempDir } from '../support/temp-dir.js';
import { baseNames, standInFor } from './support/base-image.js';
import { Buildah, cannotBuild } from './support/buildah.js';

const IMAGE = 'plugin-broker:test';
const STATE = '/var/lib/plugin-broker';
const RESOURCE = 'example.com/outside';

/** The words of an image on how it is run. */
interface ImageConfig {
  readonly User?: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Healthcheck?: { readonly Test: readonly string[] };
}

interface ResourceJson {
  readonly name: string;
  readonly allocatable: number;
}

const skip = cannotBuild();
if (skip !== false) console.error(skip);

describe('the container image', { skip }, () => {
  const repository = path.dirname(realpathSync(path.join(buildRoot(), 'package.json')));
  const storage = tempDir();
  const state = tempDir();
  const buildah = new Buildah(storage);
  let config: ImageConfig;
  let container: string;

  before(async () => {
    for (const name of baseNames(path.join(repository, 'Dockerfile'))) {
      await standInFor(name, buildah, repository, path.join(storage, 'tree'));
    }
    await buildah.do('bud', '--isolation', 'chroot', '--pull-never', '--format', 'docker', '-t', IMAGE, repository);
    const inspected = JSON.parse(await buildah.do('inspect', '--type', 'image', IMAGE)) as {
      Docker: { config: ImageConfig };
    };
    config = inspected.Docker.config;
    container = await buildah.do('from', '--pull-never', IMAGE);
    chmodSync(state, 0o755);
  });
  after(async () => {
    await buildah.clear();
  });

  /** Runs one command beside the daemon, in the same container; gives how it ended and what it printed. */
  const inside = async (...command: readonly string[]): Promise<{ ending: string | number; output: string }> => {
    const child = buildah.start(container, state, STATE, command);
    const ending = await child.end();
    return { ending, output: child.lines.join('\n') };
  };

  /** The simulated device plugin, outside the container, as root as most plugins are. */
  const pluginOutside = (): Child => {
    const sim = [distFile(), 'sim', 'device', '--root', state];
    return new Child({ command: process.execPath, args: sim, env: {} }, ['--resource', RESOURCE, '--devices', '2']);
  };
  /** The health check as a container engine runs it. */
  const healthCheck = (): ReturnType<typeof inside> => {
    const [kind, command = ''] = config.Healthcheck?.Test ?? [];
    assert.equal(kind, 'CMD-SHELL');
    return inside('sh', '-c', command);
  };

  /** Devices of the plugin outside that could be given away, as the daemon in the container says. */
  const allocatable = async (): Promise<number | undefined> => {
    const { output } = await inside('plugin-broker', 'resources', '-o', 'json');
    return (JSON.parse(output) as readonly ResourceJson[]).find(({ name }) => name === RESOURCE)?.allocatable;
  };
  const brokerPid = async (): Promise<number> => {
    const { output } = await inside('plugin-broker', 'status', '-o', 'json');
    return (JSON.parse(output) as { broker: { pid: number } }).broker.pid;
  };

  it('runs as root, as most plugins do, and starts the daemon without a shell', () => {
    assert.equal(config.User ?? '', '');
    assert.deepEqual([config.Entrypoint, config.Cmd], [['plugin-broker'], ['serve']]);
  });

  it('carries what runs and nothing that only builds, tests or is imported', async () => {
    const { output } = await inside('sh', '-c', 'cd /opt/plugin-broker; find . -maxdepth 3; du -sm .');
    const names = output.split('\n');
    assert.ok(names.includes('./dist/plugin-broker.cjs') && names.includes('./node_modules/koffi'), output);
    assert.deepEqual(
      names.filter((name) => /\.map$|typescript|eslint|client-node|^\.\/(src|test|docs)/.test(name)),
      [],
    );
    assert.ok(Number.parseInt(names.at(-1) ?? '', 10) < 12, output);
  });

  it('lets a plugin in from outside, is healthy, hands over to a second container, and ends with 0 on SIGTERM', async () => {
    assert.equal((await healthCheck()).ending, 1, 'the health check fails while no daemon runs');

    const daemon = buildah.start(container, state, STATE, [...config.Entrypoint, ...config.Cmd]);
    await eventually('the daemon listens in the mounted directory', () => {
      if (existsSync(path.join(state, 'device-plugins', 'kubelet.sock'))) return true;
      return false;
    }).catch((error: unknown) => {
      throw new Error(daemon.story, { cause: error });
    });
    const plugin = pluginOutside();
    let successor: Child | undefined;
    try {
      await eventually('the resource of the plugin outside', async () => (await allocatable()) === 2, {
        withinMs: 30_000,
        everyMs: 200,
      }).catch((error: unknown) => {
        throw new Error(`${daemon.story}\n${plugin.story}`, { cause: error });
      });
      const healthy = await healthCheck();
      assert.equal(healthy.ending, 0, healthy.output);

      // Only where the kernel's word on the caller is heard, through the native module, has a lease an owner.
      const given = await inside('plugin-broker', 'run', '--device', `${RESOURCE}=1`, '--', 'true');
      assert.equal(given.ending, 0, given.output);

      // An upgrade: another container of the image takes over, and the first ends as if it had been stopped.
      const first = await brokerPid();
      successor = buildah.start(container, state, STATE, [...config.Entrypoint, ...config.Cmd, '--takeover']);
      assert.equal(await daemon.end(), 0, daemon.story);
      assert.notEqual(await brokerPid(), first);
      assert.equal(await allocatable(), 2, successor.story);
      assert.equal((await healthCheck()).ending, 0, successor.story);

      process.kill(await brokerPid(), 'SIGTERM');
      assert.equal(await successor.end(), 0, successor.story);
    } finally {
      await plugin.stop();
      await successor?.stop();
      await daemon.stop();
    }
  });
});
