// `reload`: reads the config file again, and prints the outcome.
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { CliError, EXIT } from '../exit.js';
import { clientOf, withAddress, type AddressOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** The source of a daemon without a file, as ReloadView has it. */
const NO_FILE = 'defaults';

/** Adds the command. */
export function addReload(program: Command, terminal: Terminal): void {
  withAddress(program.command('reload'))
    .summary('read the config file again: what changed, or why not')
    .description(
      'Makes the daemon read its config file again, as SIGHUP does, and says what changed. A file with mistakes changes nothing: they are printed, and the command ends with 78.',
    )
    .action(async (options: AddressOptions) => {
      const { outcome, source, changes, needRestart, problems } = await clientOf(options, terminal).reload();
      for (const problem of problems) terminal.complain(visible(problem));
      if (outcome === 'refused') {
        throw new CliError(EXIT.config, `${source} cannot be used; the old policy stays in force`);
      }
      const lines = (texts: readonly string[]): string => texts.map((text) => `  ${visible(text)}\n`).join('');
      if (source === NO_FILE) terminal.write('the daemon was given no config file: the defaults stay in force\n');
      else if (changes.length === 0)
        terminal.write(`${visible(source)} says what is in force already; plugin-broker events has its last changes\n`);
      else terminal.write(`the policy of ${visible(source)} is in force:\n${lines(changes)}`);
      if (needRestart.length > 0)
        terminal.write(`these keep their old values until the daemon is restarted:\n${lines(needRestart)}`);
    });
}
