import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Child } from '../support/child.js';
import { buildRoot } from '../support/dist.js';
import { eventually } from '../support/eventually.js';
import { tempDir } from '../support/temp-dir.js';
import { baseNames, standInFor } from './support/base-image.js';
import { Buildah, cannotBuild } from './support/buildah.js';

const IMAGE = 'plugin-broker:test';
const STATE = '/var/lib/plugin-broker';
/** The user of the image, who is uid 1000 in every official Node.js image. */
const USER = 1000;
const RESOURCE = 'example.com/outside';

/** What an image says about how it is run. */
interface ImageConfig {
  readonly User: string;
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
    chownSync(state, USER, USER);
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

  /** The simulated device plugin, outside the container, as the user that the daemon inside runs as. */
  const pluginOutside = (): Child => {
    const copy = tempDir();
    chmodSync(copy, 0o755);
    const needed = ['dist', 'package.json', 'proto'].map((name) => path.join(buildRoot(), name));
    execFileSync('cp', ['-rL', ...needed, copy]);
    const sim = [path.join(copy, 'dist', 'plugin-broker.cjs'), 'sim', 'device', '--root', state];
    const asUser = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups', process.execPath];
    return new Child({ command: 'setpriv', args: [...asUser, ...sim], env: {} }, [
      '--resource',
      RESOURCE,
      '--devices',
      '2',
    ]);
  };

  it('is made for an ordinary user, names its health check and starts the daemon without a shell', () => {
    assert.equal(config.User, 'node');
    assert.deepEqual(config.Entrypoint, ['plugin-broker']);
    assert.deepEqual(config.Cmd, ['serve']);
    assert.deepEqual(config.Healthcheck?.Test, ['CMD', 'plugin-broker', 'status']);
  });

  it('carries what runs and nothing that only builds or tests', async () => {
    const { output } = await inside('sh', '-c', 'ls /opt/plugin-broker; ls /opt/plugin-broker/node_modules');
    const names = output.split('\n');
    assert.ok(names.includes('dist'));
    for (const unwanted of ['src', 'test', 'typescript', 'eslint', 'esbuild'])
      assert.ok(!names.includes(unwanted), unwanted);
  });

  it('lets a plugin in from outside through a mounted directory, is healthy, and ends with 0 on SIGTERM', async () => {
    const unhealthy = await inside(...(config.Healthcheck?.Test.slice(1) ?? []));
    assert.equal(unhealthy.ending, 69, 'the health check fails while no daemon runs');

    const daemon = buildah.start(container, state, STATE, [...config.Entrypoint, ...config.Cmd]);
    await eventually('the daemon listens in the mounted directory', () => {
      if (existsSync(path.join(state, 'device-plugins', 'kubelet.sock'))) return true;
      return false;
    }).catch((error: unknown) => {
      throw new Error(daemon.story, { cause: error });
    });
    const plugin = pluginOutside();
    try {
      await eventually(
        'the resource of the plugin outside',
        async () => {
          const { output } = await inside('plugin-broker', 'resources', '-o', 'json');
          const resources = JSON.parse(output) as readonly ResourceJson[];
          return resources.some(({ name, allocatable }) => name === RESOURCE && allocatable === 2);
        },
        { withinMs: 30_000, everyMs: 200 },
      ).catch((error: unknown) => {
        throw new Error(`${daemon.story}\n${plugin.story}`, { cause: error });
      });
      const healthy = await inside(...(config.Healthcheck?.Test.slice(1) ?? []));
      assert.equal(healthy.ending, 0, healthy.output);

      const { output } = await inside('plugin-broker', 'status', '-o', 'json');
      const { broker } = JSON.parse(output) as { broker: { pid: number } };
      process.kill(broker.pid, 'SIGTERM');
      assert.equal(await daemon.end(), 0, daemon.story);
    } finally {
      await plugin.stop();
      await daemon.stop();
    }
  });
});
