// `allocate`, `release`, `allocations`: devices that are bound to a key, and the owners of all leases.
import { Option, type Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import type { Lease } from '../../generated/proto/pluginbroker/v1/allocator.js';
import { allocatorOf, answered, withAllocator, withWants, type WantOptions } from '../allocator-options.js';
import { compileGlob } from '../../platform/config/globs.js';
import { CliError, EXIT } from '../exit.js';
import {
  grantedText,
  LEASE_FORMATS,
  leaseJson,
  leaseText,
  ownerOf,
  shellWord,
  type LeaseFormat,
} from '../lease-output.js';
import { isGlob } from '../names.js';
import { documentText, namesText } from '../output/format.js';
import { ago, known } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { painter, type Paint } from '../output/tones.js';
import { show } from '../output/watch.js';
import {
  clientOf,
  durationOption,
  LIST_FORMATS,
  showing,
  withAddress,
  withWatch,
  type AddressOptions,
  type WatchOptions,
} from '../options.js';
import type { Terminal } from '../terminal.js';
import { wantsOf } from '../wants.js';

/** How `allocations` can print leases. */
const FORMATS = [...LIST_FORMATS, 'env', 'cdi', 'args'] as const;
type Format = (typeof FORMATS)[number];

/** Adds `allocate`. */
export function addAllocate(program: Command, terminal: Terminal): void {
  withWants(withAllocator(program.command('allocate')))
    .summary('take devices until they are released')
    .description(
      'Takes devices for a key. The same key with the same request gives the same devices again, also after a restart of the daemon. Exits with 75 if there are not enough in time, 77 if it is not allowed.',
    )
    .requiredOption('--key <key>', 'names the lease, to ask for it again and to release it')
    .option('--ttl <duration>', 'release it by itself if it is not asked for again in this time', durationOption)
    .addOption(
      new Option('-o, --output <format>', 'env: for eval in a shell; cdi: names; args: options for podman and docker')
        .choices(LEASE_FORMATS)
        .default('text'),
    )
    .action(async (options: AddressOptions & WantOptions & { key: string; ttl?: number; output: LeaseFormat }) => {
      const wants = wantsOf(options.device, options.id, options.numa);
      const request = {
        wants,
        owner: { bind: 'key', pid: process.pid, ...options.owner },
        key: options.key,
        ttlMs: options.ttl,
        waitMs: options.wait,
      };
      const lease = await answered(allocatorOf(options).allocate(request, terminal.interruption()));
      terminal.write(shownText(leaseText(lease, options.output), terminal));
      complainOf(lease.warnings, terminal);
    });
}

function complainOf(warnings: readonly string[], terminal: Terminal): void {
  for (const warning of warnings) terminal.complain(`plugin-broker: ${visible(warning)}`);
}

/** A key that was given as an id would look like a lease that is over. */
const KEY_HINT = ' (a key is named with --key)';
/** A key is a name among the leases of one user. */
const OWN_HINT = ' (a key is of your own leases; one of another user is named by its id)';

/** Adds `release`. */
export function addRelease(program: Command, terminal: Terminal): void {
  withAllocator(program.command('release').argument('[id]', 'the lease'))
    .summary('give devices back')
    .description('Gives the devices of a lease back. A lease that is over is fine: nothing is done.')
    .option('--key <key>', 'the key it was asked for with')
    .action(async (id: string | undefined, options: AddressOptions & { key?: string }) => {
      if ((id === undefined) === (options.key === undefined)) {
        throw new CliError(EXIT.usage, 'say which lease: its id, or --key');
      }
      const meant = id === undefined ? { key: options.key ?? '' } : { id };
      const { wasHeld, warnings } = await answered(allocatorOf(options).release(meant, terminal.interruption()));
      terminal.write(
        wasHeld ? 'released\n' : `there is no such lease; nothing was done${id === undefined ? OWN_HINT : KEY_HINT}\n`,
      );
      complainOf(warnings, terminal);
    });
}

/** Adds `allocations`. */
export function addAllocations(program: Command, terminal: Terminal): void {
  const command = program.command('allocations').argument('[resource]', 'only leases with devices of it');
  addReset(command, terminal);
  withWatch(withAllocator(command), FORMATS)
    .summary('who has which devices, and since when')
    .description(
      'Lists leases with their owners and devices, oldest first: one’s own, and for root those of everybody, and of pods.',
    )
    .action(async (resource: string | undefined, options: AddressOptions & WatchOptions<Format>) => {
      const allocator = allocatorOf(options);
      const matches = resource !== undefined && isGlob(resource) ? compileGlob(resource, 'name') : undefined;
      await show(terminal, showing(options), async () => {
        const asked = matches === undefined ? (resource ?? '') : '';
        const { leases: all, uid } = await answered(allocator.listed(asked, terminal.interruption()));
        const leases = all.filter(
          ({ granted }) => matches === undefined || granted.some((one) => matches(one.resource)),
        );
        const { output } = options;
        if (output === 'json' || output === 'yaml') {
          return documentText(leases.map(leaseJson), output, options.watch === true);
        }
        if (output === 'name') return namesText(leases.map(({ id }) => visible(id)).filter((id) => id !== ''));
        if (output !== 'table' && output !== 'wide') {
          return shownText(leaseTexts(leases, output, terminal, uid ?? process.getuid?.()), terminal);
        }
        const shown = { now: terminal.now(), ownUid: uid ?? process.getuid?.() };
        return leaseTable(leases, shown, painter(terminal.hasColours), output === 'wide');
      });
    });
}

/** On a terminal nothing that a plugin chose steers it; in a pipe the text stays what a shell is to read. */
function shownText(text: string, { isTerminal }: Terminal): string {
  return isTerminal ? text.split('\n').map(visible).join('\n') : text;
}

/**
 * Each lease as `allocate` prints it; one that has nothing of that kind is complained about and spoils nothing. Those of other
 * users are left out, because this is for use: the variables of a lease may come from a plugin of its own user, and a shell of
 * root's that reads them would run what that user chose.
 *
 * @param ownUid as the broker sees it: in a container with a user namespace root is another user there
 */
function leaseTexts(
  leases: readonly Lease[],
  format: LeaseFormat,
  terminal: Terminal,
  ownUid: number | undefined,
): string {
  return leases
    .filter(({ id }) => id !== '') // the devices of pods are not ours to use
    .map((lease) => {
      if (lease.uid !== ownUid) {
        const whose = `is uid ${String(lease.uid)}'s and left out: -o ${format} is for a shell of that user`;
        terminal.complain(`plugin-broker: the lease ${lease.id} ${whose}`);
        return '';
      }
      const head = format === 'env' ? `# ${lease.id}: ${ownerOf(lease)}\n` : '';
      try {
        return `${head}${leaseText(lease, format)}`;
      } catch (failure) {
        if (!(failure instanceof CliError)) throw failure;
        terminal.complain(`plugin-broker: ${failure.message}`);
        return '';
      }
    })
    .join('');
}

/** `allocations reset`, which is for the operator: it goes to broker.sock. */
function addReset(allocations: Command, terminal: Terminal): void {
  withAddress(allocations.command('reset'))
    .summary('say that nothing is given out, after the checkpoint was lost')
    .description(
      'Ends the states unknown and stale of the ledger: from then on devices that nobody is known to have are given out. Stop what may still use devices first.',
    )
    .action(async (_: AddressOptions, command: Command) => {
      // The options of `allocations` are taken by it, wherever they stand.
      const options = command.optsWithGlobals<AddressOptions>();
      terminal.write(`${visible(await clientOf(options, terminal).resetLedger())}\n`);
    });
}

/** When a table is shown, and to whom. */
interface Shown {
  readonly now: number;
  /** As of `leaseTexts`. */
  readonly ownUid: number | undefined;
}

function leaseTable(leases: readonly Lease[], shown: Shown, paint: Paint, isWide: boolean): string {
  if (leases.length === 0) return 'no leases\n';
  const columns: readonly Column<Lease>[] = [
    { title: 'OWNER', of: ownerOf },
    { title: 'DEVICES', of: grantedText },
    { title: 'STATE', of: ({ state }) => state, tone: ({ state }) => (state === 'active' ? 'good' : 'warn') },
    { title: 'SINCE', of: ({ createdAt }) => ago(createdAt, shown.now) },
    { title: 'UNTIL', of: (lease) => untilText(lease, shown) },
    { title: 'UID', of: ({ uid }) => known(uid) },
    { title: 'LEASE', of: ({ id }) => id },
    ...(isWide
      ? [
          { title: 'KEY', of: ({ key }: Lease) => visible(key) },
          { title: 'CDI', of: cdiText },
        ]
      : []),
  ];
  return table(columns, leases, paint);
}

function cdiText({ cdiDevices }: Lease): string {
  return visible(cdiDevices.join(' '));
}

/** The end of the lease's life. */
function untilText({ owner, pid, key, id, uid, expiresAt }: Lease, { ownUid }: Shown): string {
  if (expiresAt !== '') return expiresAt;
  if (owner?.bind === 'pod') return 'its pod ends';
  if (owner?.bind === 'process') return `pid ${String(pid)} ends`;
  if (owner?.bind === 'cgroup') return 'its control group ends';
  // It is there to be copied. A key of another user may be one of ours, too.
  return uid === ownUid ? `release --key ${visible(shellWord(key))}` : `release ${id}`;
}
