import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { debianBase, nodeBinary, toEnd } from '../../support/debian-base.js';
import type { Buildah } from './buildah.js';

/** Each of these commands takes seconds. */
const COMMAND_MS = 60_000;

const run = (command: string, args: readonly string[]): Promise<string> => toEnd(command, args, COMMAND_MS);

/** Where the images of a Dockerfile come from, by its FROM lines; stages of its own left out. */
export function baseNames(dockerfile: string): readonly string[] {
  const lines = readFileSync(dockerfile, 'utf8').split('\n');
  const names = lines.flatMap((line) => /^FROM\s+(\S+)/.exec(line)?.[1] ?? []);
  return [...new Set(names)];
}

/** A setting of npm on this machine: the stand-in reaches the same registry in the same way. */
async function npmSetting(key: string): Promise<string | undefined> {
  const stdout = await run('npm', ['config', 'get', key]);
  const value = stdout.trim();
  return value === 'null' || value === 'undefined' || value === '' ? undefined : value;
}

/** Puts Node.js, npm and the user `node` where the official image has them. */
async function furnish(tree: string, binary: string): Promise<void> {
  const local = (...parts: readonly string[]): string => path.join(tree, 'usr', 'local', ...parts);
  for (const folder of [local('bin'), local('etc'), local('lib', 'node_modules')])
    mkdirSync(folder, { recursive: true });
  copyFileSync(binary, local('bin', 'node'));
  chmodSync(local('bin', 'node'), 0o755);
  const modules = await run('npm', ['root', '--global']);
  await run('cp', ['-r', path.join(modules.trim(), 'npm'), local('lib', 'node_modules')]);
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', local('bin', 'npm'));
  await run('chroot', [tree, 'useradd', '--uid', '1000', '--user-group', '--create-home', 'node']);

  const settings = [`registry=${(await npmSetting('registry')) ?? ''}`];
  const authorities = await npmSetting('cafile');
  if (authorities !== undefined && existsSync(authorities)) {
    copyFileSync(authorities, local('etc', 'registry-authorities.pem'));
    settings.push('cafile=/usr/local/etc/registry-authorities.pem');
  }
  writeFileSync(local('etc', 'npmrc'), `${settings.join('\n')}\n`);
}

/**
 * Makes a local stand-in for an official Node.js image, node:LINE-RELEASE-slim, from Debian's packages and the package
 * registry: no image registry is asked. Takes about half a minute.
 *
 * @param folder an empty folder for its file tree
 */
export async function standInFor(name: string, buildah: Buildah, repository: string, folder: string): Promise<void> {
  const [, line, release] = /^node:(\d+)-(\w+)-slim$/.exec(name) ?? [];
  if (line === undefined || release === undefined) throw new Error(`no stand-in is known for the image ${name}`);
  await debianBase(repository, release, folder);
  await furnish(folder, await nodeBinary(repository, line));
  const container = await buildah.do('from', 'scratch');
  await buildah.do('add', '--quiet', container, folder, '/');
  await buildah.do('config', '--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', container);
  await buildah.do('commit', '--quiet', '--rm', container, `docker.io/library/${name}`);
}
