// Where a command is, known before devices are asked for: a command that cannot run shall take none.
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import { CliError, EXIT } from '../exit.js';
import { visible } from '../output/text.js';

/**
 * The file of a command, found as execvp(3) does.
 *
 * @throws CliError with the codes of env(1): 127 when there is none, 126 when it cannot be run
 */
export function commandPath(command: string, searched = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'): string {
  const candidates = command.includes('/')
    ? [command]
    : searched.split(':').map((folder) => path.join(folder === '' ? '.' : folder, command));
  let found: string | undefined;
  for (const candidate of candidates) {
    if (!isFile(candidate)) continue;
    found ??= candidate;
    if (isExecutable(candidate)) return candidate;
  }
  if (found !== undefined) throw new CliError(EXIT.cannotRun, `${visible(found)} cannot be run: it is not executable`);
  throw new CliError(EXIT.noCommand, `there is no command ${visible(command)}`);
}

function isFile(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
