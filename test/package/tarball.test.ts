import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { nodeBinary } from '../support/debian-base.js';
import { exampleOf } from '../support/examples.js';
import { tempDir } from '../support/temp-dir.js';
import { CONFIG, operate } from './support/as-an-operator.js';
import { done, must, NPM, pack, repository } from './support/install.js';

/** The runners of the examples: the newest that run on every Node.js that we do. */
const RUNNERS = ['vitest@3.2.7', 'jest@30.5.2', 'typescript@5.9.3', '@types/node@20.19.43'];
/** A map of a minified bundle helps nobody who has no sources; the cache of compiled code is what makes starts short. */
const LARGEST_TARBALL = 3_500_000;

describe('the package', () => {
  let tarball = '';
  before(async () => {
    tarball = await pack(tempDir());
  });

  it('holds the program, its entries with declarations, no source maps, and is what publint and attw ask for', async () => {
    const names = (await must('tar', ['-tzf', tarball])).split('\n');
    for (const name of [
      'dist/plugin-broker.cjs',
      'dist/serve-under-test.cjs',
      'dist/broker.js',
      'dist/broker.d.ts',
      'dist/verify.d.ts',
      'config/plugin-broker.yaml',
    ])
      assert.ok(names.includes(`package/${name}`), name);
    assert.deepEqual(
      names.filter((name) => /\.map$|^package\/(src|test|scripts)\//.test(name)),
      [],
    );
    assert.ok(statSync(tarball).size < LARGEST_TARBALL, String(statSync(tarball).size));
    const bin = (name: string): string => path.join(repository, 'node_modules', '.bin', name);
    await must(bin('publint'), ['run', tarball, '--strict']);
    await must(bin('attw'), [
      tarball,
      '--profile',
      'esm-only',
      '--exclude-entrypoints',
      './proto/*',
      './config.schema.json',
    ]);
  });

  it('runs the examples of the documents in an empty project, with node:test, vitest and jest, and type-checks', async () => {
    const project = tempDir();
    writeFileSync(path.join(project, 'package.json'), '{"name":"empty","version":"1.0.0","type":"module"}');
    const files = {
      'plugin.mjs': exampleOf('README.md', 'plugin.mjs'),
      'plugin.test.mjs': exampleOf('README.md', 'plugin.test.mjs'),
      'plugin.vitest.test.mjs': exampleOf('docs/library.md', 'plugin.vitest.test.mjs'),
      'plugin.jest.test.mjs': exampleOf('docs/library.md', 'plugin.jest.test.mjs'),
      'verify.mjs': exampleOf('docs/library.md', 'verify.mjs'),
      'types.ts': [
        "import { startBroker } from 'plugin-broker';",
        'await using broker = await startBroker();',
        "const { allocatable }: { allocatable: number } = await broker.waitForResource('a/b');",
        'console.log(allocatable);',
      ].join('\n'),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(project, name), text);
    const here = { cwd: project, env: NPM };
    await must('npm', ['install', tarball, ...RUNNERS], here);
    await must(process.execPath, ['--test', 'plugin.test.mjs'], here);
    const tool = (...parts: readonly string[]): string => path.join(project, 'node_modules', ...parts);
    await must(process.execPath, [tool('vitest', 'vitest.mjs'), 'run', 'plugin.vitest'], here);
    const jest = ['--experimental-vm-modules', tool('jest', 'bin', 'jest.js'), 'plugin.jest'];
    await must(process.execPath, jest, here);
    assert.match(await must(process.execPath, ['verify.mjs'], here), /^passed first-list/);
    const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', 'false'];
    await must(process.execPath, [tool('typescript', 'bin', 'tsc'), ...flags, 'types.ts'], here);
    for (const line of ['22', '24']) {
      await must(await nodeBinary(repository, line), ['--test', 'plugin.test.mjs'], here);
    }
    await must(process.execPath, ['-e', "require('plugin-broker/device-plugin').serveDevicePlugin.call"], here);
  });

  it('is installed globally, operated, upgraded under a running daemon, and removed without leftovers', async () => {
    const prefix = tempDir();
    const global = ['--global', '--prefix', prefix];
    const install = async (): Promise<void> => {
      await must('npm', ['install', ...global, tarball], { env: NPM });
    };
    await install();
    const program = path.join(prefix, 'bin', 'plugin-broker');
    const config = path.join(tempDir(), 'c.yaml');
    writeFileSync(config, CONFIG);
    await operate({ program: [program], root: path.join(tempDir(), 'r'), config }, install);
    await must('npm', ['uninstall', ...global, 'plugin-broker'], { env: NPM });
    assert.ok(!existsSync(program));
    assert.deepEqual(
      readdirSync(path.join(prefix, 'lib', 'node_modules')).filter((name) => !name.startsWith('.')),
      [],
    );
  });
});

describe('a checkout', () => {
  it('is installed without development packages: nothing is built, dist/ stays as it is, and it says how to build', async () => {
    const checkout = path.join(tempDir(), 'checkout');
    await must('git', ['clone', '--quiet', repository, checkout]);
    const dist = path.join(checkout, 'dist');
    const install = (): ReturnType<typeof done> =>
      done('npm', ['ci', '--omit=dev', '--foreground-scripts'], { cwd: checkout, env: NPM });
    const first = await install();
    assert.equal(first.code, 0, first.output);
    assert.match(first.output, /npm ci && npm run build/);
    assert.ok(!existsSync(dist));
    mkdirSync(dist);
    const program = path.join(dist, 'plugin-broker.cjs');
    writeFileSync(program, '#!/usr/bin/env node\nconsole.log("as it was")\n', { mode: 0o755 });
    const second = await install();
    assert.equal(second.code, 0, second.output);
    assert.deepEqual(readdirSync(dist), ['plugin-broker.cjs']);
    assert.match(
      await must('npx', ['--no-install', 'plugin-broker', 'version'], { cwd: checkout, env: NPM }),
      /as it was/,
    );
    assert.deepEqual(readdirSync(dist), ['plugin-broker.cjs']);
  });
});
