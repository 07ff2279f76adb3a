// `serve`: named here for the help and for completion; src/plugin-broker.ts starts it without loading any of this.
import type { Command } from 'commander';
import type { ProgramParts } from '../program.js';

/** Adds the command. */
export function addServe(program: Command, parts: Pick<ProgramParts, 'serve'>): void {
  program
    .command('serve')
    .summary('run the daemon in the foreground')
    .description(
      'Runs the daemon in the foreground. It logs to standard error: JSON lines, or readable ones on a terminal. SIGTERM stops it, SIGHUP reads the config file again.',
    )
    .option('--config <file>', 'YAML file with the settings (default: built-in ones)')
    .option('--root <dir>', 'root directory, instead of the one in the config')
    .option('--takeover', 'ask a daemon that runs on this root to stop, and take its place')
    .action(() => parts.serve());
}
