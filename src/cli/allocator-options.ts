// Options of the commands that talk to the allocator, and how its answers become exit codes.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { visible } from '../kernel/visible.js';
import type { Owner } from '../generated/proto/pluginbroker/v1/allocator.js';
import { AllocationFailure, AllocatorClient } from '../platform/grpc/allocator-client.js';
import { Unreachable } from '../platform/grpc/admin-failure.js';
import { systemClock } from '../platform/time/system-clock.js';
import { CliError, EXIT } from './exit.js';
import { durationOption, socketOf, withRoot, type AddressOptions } from './options.js';
import { deviceOption, idOption } from './wants.js';

/** The options of the commands that ask for devices. */
export interface WantOptions {
  readonly device?: ReadonlyMap<string, number>;
  readonly id?: readonly (readonly [string, string])[];
  readonly numa?: 'single' | 'prefer';
  readonly wait: number;
  /** The owner of the devices, in the words of consumers. */
  readonly owner?: Omit<Owner, 'bind' | 'pid'>;
}

/** The allocator's socket in the root directory. */
export const ALLOCATOR_SOCKET = 'alloc.sock';

const LONGEST_WAIT_MS = 3_600_000;

/** Adds --root and --address. */
export function withAllocator(command: Command): Command {
  return withRoot(command).option(
    '--address <socket>',
    'allocator socket of the daemon (default: alloc.sock in the root directory)',
  );
}

/** Adds the options that say which devices are wanted, for which owner, and how long to wait. */
export function withWants(command: Command): Command {
  return command
    .option(
      '--device <resource[=count]>',
      'devices of a resource, one if no count is given; may be repeated',
      deviceOption,
    )
    .option('--id <resource=id>', 'this device of a resource; may be repeated', idOption)
    .addOption(
      new Option('--numa <how>', 'single: all of one resource near to one NUMA node, or none').choices([
        'single',
        'prefer',
      ]),
    )
    .option('--wait <duration>', 'how long to wait until there are enough, such as 30s or 1h', waitOption, 0)
    .option(
      '--owner <namespace/name[/part]>',
      'the owner, as others are shown it (default: the group of the process)',
      ownerOption,
    );
}

/** The allocator that the options name. @throws CliError as socketOf */
export function allocatorOf(options: AddressOptions): AllocatorClient {
  return new AllocatorClient(socketOf(options, 'allocator', ALLOCATOR_SOCKET), systemClock);
}

/** Runs a call; a refusal by the allocator ends the command with the code that says whether trying again helps. */
export async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof AllocationFailure) throw new CliError(exitOf(thrown), visible(thrown.message));
    if (thrown instanceof Unreachable && thrown.isForbidden) throw new CliError(EXIT.notAllowed, thrown.message);
    throw thrown;
  }
}

function exitOf({ code }: AllocationFailure): number {
  switch (code) {
    case 'RESOURCE_EXHAUSTED':
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
      return EXIT.noDevices;
    case 'PERMISSION_DENIED':
      return EXIT.notAllowed;
    case 'INVALID_ARGUMENT':
      return EXIT.usage;
    default:
      return EXIT.failed;
  }
}

function waitOption(text: string): number {
  const wait = durationOption(text);
  if (wait > LONGEST_WAIT_MS) throw new InvalidArgumentError('It must be at most 1h.');
  return wait;
}

function ownerOption(text: string): Omit<Owner, 'bind' | 'pid'> {
  const [namespace = '', name = '', ...part] = text.split('/');
  if (namespace === '' || name === '')
    throw new InvalidArgumentError('It must be NAMESPACE/NAME or NAMESPACE/NAME/PART.');
  return { namespace, name, part: part.join('/') };
}
