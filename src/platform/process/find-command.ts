// Where a command is, found as execvp(3) does.
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/** A file of that name, and whether it may be executed. */
export interface FoundCommand {
  readonly file: string;
  readonly isExecutable: boolean;
}

/**
 * The first file of a command that may be executed; else the first that may not; undefined when there is none.
 *
 * @param command a path where it has a slash, else a name that is searched
 * @param searched directories separated by colons, as PATH has them; an empty one is the current directory
 */
export function findCommand(command: string, searched: string): FoundCommand | undefined {
  const candidates = command.includes('/')
    ? [command]
    : searched.split(':').map((folder) => path.join(folder === '' ? '.' : folder, command));
  const files = candidates.filter(isFile);
  const executable = files.find(isExecutable);
  const file = executable ?? files[0];
  return file === undefined ? undefined : { file, isExecutable: executable !== undefined };
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
