// `limits [NAME]`
import type { Command } from 'commander';
import type { LimitView } from '../../model/views.js';
import { duration, known, until } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import type { Paint } from '../output/tones.js';
import { showList, type ListOptions } from '../listing.js';
import { LIST_FORMATS, withAddress, withWatch } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addLimits(program: Command, terminal: Terminal): void {
  const command = program
    .command('limits')
    .argument('[name]', 'only the limits of this plugin, or of those that match a glob');
  withWatch(withAddress(command), LIST_FORMATS)
    .summary('the flood policy at work: permits, strikes, quarantines')
    .description(
      'Lists the buckets of the flood policy: permits now, when the next comes, strikes, and the callers that are slowed.',
    )
    .action((name: string | undefined, options: ListOptions) =>
      showList(terminal, options, name, {
        what: 'limit',
        ask: (client, plugin) => client.limits(plugin),
        namesOf: ({ plugin }) => [plugin, plugin.slice(plugin.indexOf('/') + 1)],
        nameOf: ({ plugin }) => plugin,
        text: (limits, paint) => limitTable(limits, terminal.now(), paint, options.output === 'wide'),
      }),
    );
}

/** The table of limits at a time; `isWide` adds figures of the policy. */
export function limitTable(limits: readonly LimitView[], now: number, paint: Paint, isWide = false): string {
  if (limits.length === 0) return 'no limit was ever spent from\n';
  const uids = new Map<string, Set<number>>();
  for (const { plugin, uid } of limits) uids.set(plugin, (uids.get(plugin) ?? new Set()).add(uid));
  const columns: readonly Column<LimitView>[] = [
    { title: 'LIMIT', of: (limit) => limit.limit },
    // Whoever uses the name of another's plugin has buckets of its own under it.
    {
      title: 'PLUGIN',
      of: (limit) =>
        limit.plugin !== '' && (uids.get(limit.plugin)?.size ?? 0) > 1
          ? `${ownerOf(limit)} (uid ${String(limit.uid)})`
          : ownerOf(limit),
    },
    { title: 'NOW', of: (limit) => (limit.slowing === '' ? '-' : limit.slowing), tone: toneOfSlowing },
    { title: 'QUARANTINE', of: (limit) => until(limit.quarantinedUntil, now), tone: toneOfSlowing },
    { title: 'SET BY', of: (limit) => limit.source },
    { title: 'STRIKES', of: (limit) => limit.strikes, tone: (limit) => (limit.strikes > 0 ? 'warn' : 'plain') },
    { title: 'EXCEEDED', of: (limit) => limit.exceeded, tone: (limit) => (limit.exceeded > 0 ? 'warn' : 'plain') },
    { title: 'PERMITS', of: (limit) => `${limit.permits}/${limit.burst}`, tone: toneOfPermits },
    { title: 'MODE', of: (limit) => limit.mode, tone: (limit) => (limit.mode === 'enforce' ? 'plain' : 'quiet') },
  ];
  const more: readonly Column<LimitView>[] = [
    { title: 'EVERY', of: (limit) => duration(limit.intervalMs) },
    { title: 'NEXT', of: (limit) => (limit.nextInMs <= 0 ? '-' : duration(limit.nextInMs)) },
    { title: 'UID', of: (limit) => known(limit.uid) },
  ];
  return table(isWide ? [...columns, ...more] : columns, limits, paint);
}

/** The owner of a bucket: a plugin; all callers of one uid; or everybody. */
function ownerOf({ plugin, uid, limit }: LimitView): string {
  if (plugin !== '') return plugin;
  if (uid < 0) return '(all)';
  return limit === 'connections' || limit === 'allocate' ? '(any)' : '(invalid names)';
}

/** Red is a quarantine, and a session that was closed; a pace below the plugin's own is the purpose of a limit. */
function toneOfSlowing({ slowing }: LimitView): 'bad' | 'warn' | 'plain' {
  if (slowing === '') return 'plain';
  return slowing === 'quarantined' || slowing === 'disconnected' ? 'bad' : 'warn';
}

function toneOfPermits(limit: LimitView): 'warn' | 'plain' {
  return limit.permits <= 0 ? 'warn' : 'plain';
}
