// `__names`: the completions that a shell may offer where a command takes the name of a plugin or resource, or a lease. The
// command is hidden, prints no errors and answers quickly.
import { Argument, type Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { allocatorOf } from '../allocator-options.js';
import { clientOf, withAddress, type AddressOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Nobody waits longer for a completion. */
const LONGEST_MS = 300;

/** Adds the command. */
export function addLiveNames(program: Command, terminal: Terminal): void {
  withAddress(program.command('__names', { hidden: true }))
    .addArgument(new Argument('<kind>', 'whose names').choices(['plugin', 'resource', 'lease']))
    .action(async (kind: string, options: AddressOptions) => {
      const late = new Promise<readonly string[]>((resolve) => setTimeout(resolve, LONGEST_MS, []));
      const names = await Promise.race([namesOf(kind, options, terminal), late]).catch(() => []);
      terminal.write([...new Set(names)].map((name) => `${visible(name)}\n`).join(''));
    });
}

async function namesOf(kind: string, options: AddressOptions, terminal: Terminal): Promise<readonly string[]> {
  if (kind === 'lease') {
    const allocator = allocatorOf(options.root === undefined ? {} : { root: options.root });
    return (await allocator.list('', AbortSignal.timeout(LONGEST_MS))).map(({ id }) => id);
  }
  const client = clientOf(options, terminal);
  const all = kind === 'plugin' ? await client.plugins('') : await client.resources('', true);
  return all.map(({ name }) => name);
}
