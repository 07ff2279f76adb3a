// Where a command is, found as execvp(3) does.
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import { ifPossible, isDone } from '../../kernel/if-possible.js';

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
  // Those in a directory that we may not enter are none for us.
  const files = candidates.filter((file) => ifPossible(() => statSync(file).isFile()) === true);
  const executable = files.find((file) => isDone(() => accessSync(file, constants.X_OK)));
  const file = executable ?? files[0];
  return file === undefined ? undefined : { file, isExecutable: executable !== undefined };
}
