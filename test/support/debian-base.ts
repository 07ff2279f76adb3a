import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

/** A mirror that does not answer is no reason to hold up everything. */
const DEBOOTSTRAP_MS = 400_000;
const UNPACK_MS = 120_000;

/** Runs a command to its end. @throws Error with its last words and how it ended */
export async function toEnd(command: string, args: readonly string[], timeout: number, cwd?: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      maxBuffer: 2 ** 26,
      timeout,
      ...(cwd === undefined ? {} : { cwd }),
    });
    return stdout;
  } catch (thrown) {
    const {
      code,
      signal,
      stdout = '',
      stderr = '',
      killed,
    } = thrown as { code?: unknown; signal?: unknown; stdout?: string; stderr?: string; killed?: boolean };
    const how =
      killed === true ? `was ended after ${String(timeout / 1000)} s` : `ended with ${String(code ?? signal)}`;
    const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-25).join('\n');
    throw new Error(`${command} ${args.slice(0, 6).join(' ')} … ${how}:\n${said}`, { cause: thrown });
  }
}

/** The address that apt on this machine has the release from. */
async function debianMirror(release: string): Promise<string> {
  const targets = await toEnd(
    'apt-get',
    ['indextargets', '--format', '$(RELEASE) $(SITE)', 'Created-By: Packages'],
    30_000,
  );
  const line = targets.split('\n').find((candidate) => candidate.startsWith(`${release} `));
  if (line === undefined) throw new Error(`apt has no source for ${release}:\n${targets}`);
  return line.slice(release.length + 1);
}

/**
 * The smallest system of a Debian release, as a file tree. It is made by debootstrap once and kept beside the packages of this
 * repository: it takes half a minute and a mirror that answers.
 *
 * @param folder an empty folder for the tree
 */
export async function debianBase(repository: string, release: string, folder: string): Promise<void> {
  const kept = path.join(repository, 'node_modules', '.cache', `debian-${release}.tar`);
  mkdirSync(folder, { recursive: true });
  if (existsSync(kept)) {
    await toEnd('tar', ['--extract', '--numeric-owner', '--file', kept, '--directory', folder], UNPACK_MS);
    return;
  }
  // The leftovers of one try are in the way of the next.
  const attempt = async (): Promise<void> => {
    rmSync(folder, { recursive: true, force: true });
    await toEnd('debootstrap', ['--variant=minbase', release, folder, await debianMirror(release)], DEBOOTSTRAP_MS);
  };
  await attempt().catch((first: unknown) => {
    console.error(`once more, because ${String(first)}`);
    return attempt();
  });
  rmSync(path.join(folder, 'var', 'cache', 'apt', 'archives'), { recursive: true, force: true });
  mkdirSync(path.dirname(kept), { recursive: true });
  const fresh = `${kept}.${String(process.pid)}`;
  await toEnd(
    'tar',
    [
      '--create',
      '--numeric-owner',
      '--exclude',
      './dev/*',
      '--exclude',
      './proc/*',
      '--exclude',
      './sys/*',
      '--file',
      fresh,
      '--directory',
      folder,
      '.',
    ],
    UNPACK_MS,
  );
  renameSync(fresh, kept);
}

/** The binary of one line of Node.js, fetched once. */
export async function nodeBinary(repository: string, line: string): Promise<string> {
  const found = await toEnd(process.execPath, [path.join(repository, 'scripts', 'on-node.mjs'), line, 'path'], 180_000);
  return found.trim();
}
