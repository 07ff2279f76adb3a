// `__names`: the completions that a shell may offer where a command takes the name of a plugin or resource, or a lease. The
// command is hidden, prints no errors and answers quickly.
import path from 'node:path';
import { Argument, type Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { ALLOCATOR_SOCKET, allocatorOf } from '../allocator-options.js';
import { namesText } from '../output/format.js';
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
      terminal.write(namesText(names.map(visible)));
    });
}

async function namesOf(kind: string, options: AddressOptions, terminal: Terminal): Promise<readonly string[]> {
  if (kind === 'lease') {
    return (await allocatorOf(options).list('', AbortSignal.timeout(LONGEST_MS))).map(({ id }) => id);
  }
  // `run`, `allocate` and `allocations` are told the allocator's socket; the admin socket is beside it.
  const { address = '' } = options;
  const isAllocators = path.basename(address) === ALLOCATOR_SOCKET;
  const client = clientOf(isAllocators ? { root: path.dirname(address) } : options, terminal);
  const all = kind === 'plugin' ? await client.plugins('') : await client.resources('', true);
  return all.map(({ name }) => name);
}
