// Packages to install, and commands that are run to their end.
import { execFile, type ExecFileException } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildRoot } from '../../support/dist.js';

/** How a command ended. */
export interface Done {
  readonly code: number;
  readonly output: string;
}

/** Runs a command; its output and errors together. Never rejects. */
export async function done(
  command: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Done> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26, timeout: 240_000 };
    const { stdout, stderr } = await promisify(execFile)(command, [...args], options);
    return { code: 0, output: stdout + stderr };
  } catch (thrown) {
    const { code, stdout, stderr, message } = thrown as ExecFileException;
    return { code: typeof code === 'number' ? code : -1, output: `${stdout ?? ''}${stderr ?? ''}${message}` };
  }
}

/** Runs a command that has to work. @throws Error with all that it wrote */
export async function must(...given: Parameters<typeof done>): Promise<string> {
  const { code, output } = await done(...given);
  if (code !== 0) throw new Error(`${given[0]} ${given[1].join(' ')} ended with ${String(code)}:\n${output}`);
  return output;
}

/** The repository, or the copy of it that was built. */
export const repository = buildRoot();

/** npm without its questions. */
export const NPM = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' };

/** Packs what was built last. @returns the path of the tarball */
export async function pack(folder: string): Promise<string> {
  await must('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: repository, env: NPM });
  const [name] = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error(`npm pack left nothing in ${folder}`);
  return path.join(folder, name);
}
