import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Child } from '../../support/child.js';
import { toEnd } from '../../support/debian-base.js';

/** The longest is the build of the image, with an `npm ci` in it. */
const COMMAND_MS = 600_000;

/** Images and containers in a storage of their own, without a daemon. Everything in it goes with the folder. */
export class Buildah {
  readonly #options: readonly string[];

  /** @param folder where images and containers are kept; needs about two gigabytes for a while */
  constructor(folder: string) {
    this.#options = [
      ...['--root', path.join(folder, 'storage'), '--runroot', path.join(folder, 'run'), '--storage-driver', 'vfs'],
    ];
  }

  /** Runs a command of buildah; gives what it printed, without the line end. */
  async do(...args: readonly string[]): Promise<string> {
    return (await toEnd('buildah', [...this.#options, ...args], COMMAND_MS)).trim();
  }

  /** Starts a command in a container, with `folder` of this machine mounted at `at`. */
  start(container: string, folder: string, at: string, command: readonly string[]): Child {
    const run = ['run', '--isolation', 'chroot', '--volume', `${folder}:${at}`, container, '--', ...command];
    return new Child({ command: 'buildah', args: this.#options, env: {} }, run);
  }

  /** Removes all containers, so that the folder can be deleted. One that cannot be removed is named, and fails no test. */
  async clear(): Promise<void> {
    for (const command of [
      ['rm', '--all'],
      ['rmi', '--all', '--force'],
    ]) {
      await this.do(...command).catch((thrown: unknown) => console.error(String(thrown)));
    }
  }
}

/**
 * A reason to skip image tests, or false.
 *
 * @throws Error under CI when root lacks the tools: nothing may be skipped for want of them there
 */
export function cannotBuild(): string | false {
  if (process.getuid?.() !== 0) return 'SKIPPED: building an image in a chroot needs root';
  const tools = ['buildah', 'debootstrap'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
  if (tools.length === 0) return false;
  const reason = `SKIPPED: no ${tools.join(', no ')} here; on Debian: apt-get install buildah debootstrap`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  return reason;
}
