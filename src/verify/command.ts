// The plugin's command: found before anything is started, and wrapped so that it sees its built-in directories.
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/** A command that can be started. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

/** The command cannot be started. The message says why. */
export class CommandProblem extends Error {
  override readonly name = 'CommandProblem';
}

/**
 * Finds a command as a shell does.
 *
 * @throws CommandProblem when there is none, or it may not be run
 */
export function findCommand(name: string, searchPath: string): string {
  const candidates = name.includes('/')
    ? [path.resolve(name)]
    : searchPath.split(':').map((directory) => path.resolve(directory, name));
  const files = candidates.filter(isFile);
  const found = files.find(isExecutable);
  if (found !== undefined) return found;
  if (files[0] !== undefined)
    throw new CommandProblem(`${files[0]} cannot be started: it is not executable (chmod +x)`);
  const where = name.includes('/') ? 'there is no such file' : 'it is not in any directory of PATH';
  throw new CommandProblem(`the command ${name} does not exist: ${where}`);
}

function isFile(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false; // there is none, or it is in a directory that we may not enter
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
