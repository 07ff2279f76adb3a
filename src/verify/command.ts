// The plugin's command: found before anything is started, and wrapped so that it sees its built-in directories.
import path from 'node:path';
import { findCommand as findFile } from '../platform/process/find-command.js';

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
  const found = findFile(name, searchPath);
  if (found !== undefined) {
    const file = path.resolve(found.file);
    if (found.isExecutable) return file;
    throw new CommandProblem(`${file} cannot be started: it is not executable (chmod +x)`);
  }
  const where = name.includes('/') ? 'there is no such file' : 'it is not in any directory of PATH';
  throw new CommandProblem(`the command ${name} does not exist: ${where}`);
}
