import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { debianBase, nodeBinary } from '../support/debian-base.js';
import { tempDir } from '../support/temp-dir.js';
import { CONFIG, operate } from './support/as-an-operator.js';
import { done, must, repository } from './support/install.js';

/** A chroot of its own mounts, gone with its process; the program stays the process that was started. */
const ENTER = [
  'mount --make-rprivate /',
  'mount --rbind /proc "$1/proc"',
  'mount --rbind /dev "$1/dev"',
  'tree=$1; shift',
  'exec chroot "$tree" "$@"',
].join(' && ');

/** Debian 12 has an older Node.js than this package depends on: a newer one, as an operator would package it. */
const NODE_LINE = '24';

const skip =
  process.getuid?.() === 0 && ['debootstrap', 'dpkg-deb'].every((tool) => spawnSync(tool, ['--version']).status === 0)
    ? false
    : 'SKIPPED: a chroot needs root, debootstrap and dpkg-deb';
if (skip !== false) console.error(skip);

describe('the Debian package', { skip }, () => {
  const tree = path.join(tempDir(), 'tree');
  const inside = (...command: readonly string[]): readonly string[] => [
    'unshare',
    '--mount',
    'sh',
    '-c',
    ENTER,
    'sh',
    tree,
    ...command,
  ];
  const run = (...command: readonly string[]): ReturnType<typeof done> => {
    const [first = '', ...rest] = inside(...command);
    return done(first, rest, { env: { DEBIAN_FRONTEND: 'noninteractive', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } });
  };
  const works = async (...command: readonly string[]): Promise<string> => {
    const { code, output } = await run(...command);
    assert.equal(code, 0, `${command.join(' ')}: ${output}`);
    return output;
  };
  const read = (...parts: readonly string[]): string => readFileSync(path.join(tree, ...parts), 'utf8');
  let deb = '';

  before(async () => {
    await debianBase(repository, 'bookworm', tree);
    const made = await must(process.execPath, [
      path.join(repository, 'scripts', 'build-deb.mjs'),
      path.join(tree, 'tmp'),
    ]);
    deb = `/tmp/${path.basename(made.trim())}`;
  });

  it('wants a newer Node.js than this Debian has, and installs with one', async () => {
    const without = await run('dpkg', '--install', deb);
    assert.notEqual(without.code, 0);
    assert.match(without.output, /depends on nodejs \(>= 20\.19\)/);
    await works('dpkg', '--purge', 'plugin-broker');
    const standIn = path.join(tempDir(), 'nodejs');
    mkdirSync(path.join(standIn, 'usr', 'bin'), { recursive: true });
    mkdirSync(path.join(standIn, 'DEBIAN'));
    copyFileSync(await nodeBinary(repository, NODE_LINE), path.join(standIn, 'usr', 'bin', 'node'));
    const control = [
      'Package: nodejs',
      `Version: ${NODE_LINE}.0.0`,
      'Architecture: all',
      'Maintainer: a test <a@test>',
      'Description: a stand-in',
      '',
    ];
    writeFileSync(path.join(standIn, 'DEBIAN', 'control'), control.join('\n'));
    await must('dpkg-deb', ['-Znone', '--build', standIn, path.join(tree, 'tmp', 'nodejs.deb')]);
    await works('dpkg', '--install', '/tmp/nodejs.deb', deb);
    assert.match(read('etc', 'group'), /^plugin-broker:/m);
    assert.match(await works('plugin-broker', '--version'), /^\d+\.\d+\.\d+/);
  });

  it('has a unit that systemd takes, and that finds its program', async () => {
    const unit = read('usr', 'lib', 'systemd', 'system', 'plugin-broker.service');
    const commands = [...unit.matchAll(/^Exec\w+=(\S+) /gm)].map(([, command = '']) => command);
    assert.deepEqual(new Set(commands), new Set(['plugin-broker']));
    await works('sh', '-c', 'command -v plugin-broker');
    if (spawnSync('systemd-analyze', ['--version']).status === 0) {
      const copy = path.join(tempDir(), 'plugin-broker.service');
      writeFileSync(copy, unit.replaceAll(/^(Exec\w+)=plugin-broker/gm, '$1=/bin/true'));
      assert.equal(await must('systemd-analyze', ['verify', copy]), '');
    }
    assert.match(read('usr', 'lib', 'tmpfiles.d', 'plugin-broker.conf'), /^d \/run\/cdi /m);
    assert.match(read('usr', 'lib', 'tmpfiles.d', 'plugin-broker.conf'), /^d \/var\/lib\/kubelet - /m);
    assert.doesNotMatch(unit, /^RuntimeDirectory=/m);
  });

  it('has a manual page of every command, and completions', async () => {
    const page = gunzipSync(
      readFileSync(path.join(tree, 'usr', 'share', 'man', 'man1', 'plugin-broker.1.gz')),
    ).toString();
    for (const command of ['serve', 'status', 'verify', 'sim device', 'front uninstall', 'registrar'])
      assert.ok(page.includes(`.SS ${command}\n`), command);
    await works('bash', '-n', '/usr/share/bash-completion/completions/plugin-broker');
  });

  it('is operated, reloaded as by systemd, upgraded to the same version, and purged without leftovers', async () => {
    const root = '/var/lib/plugin-broker';
    const config = '/tmp/c.yaml';
    writeFileSync(path.join(tree, config), CONFIG);
    const [, reload = ''] = /^ExecReload=(.+)$/m.exec(read('usr/lib/systemd/system/plugin-broker.service')) ?? [];
    await operate({ program: inside('plugin-broker'), root, config }, async () => {
      writeFileSync(path.join(tree, config), 'flood: {register: {burst: none}}\n');
      const bad = await run(...reload.split(' '));
      assert.notEqual(bad.code, 0);
      assert.match(bad.output, /flood\.register\.burst/);
      writeFileSync(path.join(tree, config), CONFIG);
      await works(...reload.split(' '));
      await works('dpkg', '--install', deb);
    });
    await works('dpkg', '--purge', 'plugin-broker');
    const left = await works(
      'find',
      '/',
      '-xdev',
      '-name',
      '*plugin-broker*',
      '-not',
      '-path',
      '/tmp/*',
      '-not',
      '-path',
      '/proc/*',
    );
    assert.equal(left, '');
    assert.doesNotMatch(read('etc', 'group'), /plugin-broker/);
  });
});
