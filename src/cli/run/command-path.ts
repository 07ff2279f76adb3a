// Where a command is, known before devices are asked for: a command that cannot run shall take none.
import { visible } from '../../kernel/visible.js';
import { findCommand } from '../../platform/process/find-command.js';
import { CliError, EXIT } from '../exit.js';

/**
 * The file of a command, found as execvp(3) does.
 *
 * @throws CliError with the codes of env(1): 127 when there is none, 126 when it cannot be run
 */
export function commandPath(command: string, searched = process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'): string {
  const found = findCommand(command, searched);
  if (found === undefined) throw new CliError(EXIT.noCommand, `there is no command ${visible(command)}`);
  if (found.isExecutable) return found.file;
  throw new CliError(EXIT.cannotRun, `${visible(found.file)} cannot be run: it is not executable`);
}
