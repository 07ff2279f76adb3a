// `run --device R[=N] -- CMD`: devices for as long as a command runs.
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import type { Lease } from '../../generated/proto/pluginbroker/v1/allocator.js';
import { systemClock } from '../../platform/time/system-clock.js';
import { systemRandom } from '../../platform/time/system-random.js';
import { allocatorOf, answered, withAllocator, withWants, type WantOptions } from '../allocator-options.js';
import { Ended } from '../exit.js';
import type { AddressOptions } from '../options.js';
import { Child } from '../run/child.js';
import { commandPath } from '../run/command-path.js';
import { followLease } from '../run/follow-lease.js';
import type { Terminal } from '../terminal.js';
import { wantsOf } from '../wants.js';

/** How long the end of the command may be held up by giving the devices back; the broker would see it by itself, too. */
const RELEASE_MS = 2_000;

/** Adds the command. */
export function addRun(program: Command, terminal: Terminal): void {
  const command = program.command('run').argument('<command...>', 'the command and its arguments, after --');
  withWants(withAllocator(command))
    .summary('run a command with devices that are its own for as long as it runs')
    .description(
      'Takes devices, runs a command with the environment that their plugins name, and gives the devices back when it ends. Exits as the command does; 75: not enough devices in time; 77: not allowed; 126, 127: the command cannot be run.',
    )
    .action(async ([name = '', ...args]: string[], options: AddressOptions & WantOptions) => {
      throw new Ended(await runWith(name, args, options, terminal));
    });
}

async function runWith(
  name: string,
  args: readonly string[],
  options: AddressOptions & WantOptions,
  terminal: Terminal,
): Promise<number> {
  const wants = wantsOf(options.device, options.id, options.numa);
  commandPath(name); // before devices are taken from others
  const allocator = allocatorOf(options);
  const interrupted = terminal.interruption();
  const owner = { bind: 'process', pid: process.pid, ...options.owner };
  const lease = await answered(allocator.allocate({ wants, owner, waitMs: options.wait }, interrupted));
  const follows = new AbortController();
  try {
    interrupted.throwIfAborted();
    for (const warning of [...lease.warnings, ...notForProcesses(lease)]) {
      terminal.complain(`plugin-broker: ${visible(warning)}`);
    }
    const child = new Child(name, args, lease.envs);
    const tell = (line: string): void => terminal.complain(`plugin-broker: ${visible(line)}`);
    void followLease(lease.id, { allocator, clock: systemClock, random: systemRandom, tell }, follows.signal);
    return await child.ended;
  } finally {
    follows.abort();
    await allocator.release({ id: lease.id }, AbortSignal.timeout(RELEASE_MS)).catch(() => undefined);
  }
}

/** Parts of an answer that a plugin intends for containers, and that a process beside the others on this machine does not get. */
function notForProcesses({ devices, mounts }: Lease): string[] {
  const moved = devices
    .filter(({ containerPath, hostPath }) => hostPath !== '' && containerPath !== hostPath)
    .map(({ containerPath, hostPath }) => `${containerPath} is ${hostPath}`);
  const mounted = mounts
    .filter(({ containerPath, hostPath }) => containerPath !== hostPath)
    .map(({ containerPath, hostPath }) => `${containerPath} is ${hostPath}`);
  const all = [...moved, ...mounted];
  return all.length === 0 ? [] : [`the plugin answers for containers; for this command ${all.join(', ')}`];
}
