// `version`: of this program, and of the daemon that runs.
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { Unreachable } from '../../platform/grpc/admin-failure.js';
import { clientOf, withAddress, type AddressOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addVersion(program: Command, terminal: Terminal, version: string): void {
  withAddress(program.command('version'))
    .summary('the version of this program and of the daemon')
    .description('Prints the version of this program and of the daemon that runs, if one does.')
    .action(async (options: AddressOptions) => {
      terminal.write(`plugin-broker ${version} (Node.js ${process.versions.node})\n`);
      try {
        const { broker } = await clientOf(options, terminal).status(true);
        terminal.write(`daemon ${visible(broker.version)} (pid ${String(broker.pid)})\n`);
      } catch (failure) {
        if (!(failure instanceof Unreachable)) throw failure;
        terminal.write('no daemon can be reached\n');
      }
    });
}
