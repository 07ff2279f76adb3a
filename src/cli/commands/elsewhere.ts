// Commands that are programs of their own: named here for the help and for completion. src/plugin-broker.ts starts them
// without loading any of this.
import type { Command } from 'commander';

/** Adds `serve`. */
export function addServe(program: Command, start: () => void): void {
  program
    .command('serve')
    .summary('run the daemon in the foreground')
    .description(
      'Runs the daemon in the foreground. It logs to standard error: JSON lines, or readable ones on a terminal. SIGTERM stops it, SIGHUP reads the config file again.',
    )
    .option('--config <file>', 'YAML file with the settings (default: built-in ones)')
    .option('--root <dir>', 'root directory, instead of the one in the config')
    .option('--takeover', 'ask a daemon that runs on this root to stop, and take its place')
    .action(start);
}

/** Adds `registrar`, whose flags are written as those of Go programs. */
export function addRegistrar(program: Command, start: () => void): void {
  program
    .command('registrar')
    .argument('[flags...]', 'those of node-driver-registrar: plugin-broker registrar --help')
    .summary('register a CSI driver, in place of node-driver-registrar')
    .description(
      'Registers a CSI driver with the kubelet or with this broker: a drop-in for node-driver-registrar, with its flags.',
    )
    .allowUnknownOption()
    .helpOption(false)
    .action(start);
}
