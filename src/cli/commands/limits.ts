// `limits [NAME]`
import type { Command } from 'commander';
import type { LimitView } from '../../model/views.js';
import { duration, known, until } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { documentText, isForPrograms, namesText, type OutputFormat } from '../output/format.js';
import { visible } from '../output/text.js';
import { painter, type Paint } from '../output/tones.js';
import { show } from '../output/watch.js';
import { isGlob, matching } from '../names.js';
import {
  clientOf,
  LIST_FORMATS,
  showing,
  withAddress,
  withWatch,
  type AddressOptions,
  type WatchOptions,
} from '../options.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addLimits(program: Command, terminal: Terminal): void {
  const command = program
    .command('limits')
    .argument('[name]', 'only the limits of this plugin, or of those that match a glob');
  withWatch(withAddress(command), LIST_FORMATS)
    .summary('the flood policy at work: permits, strikes, quarantines')
    .description('Lists the buckets of the flood policy: permits now, when the next comes, strikes, and who is slowed.')
    .action(async (name: string | undefined, options: AddressOptions & WatchOptions<OutputFormat>) => {
      const client = clientOf(options, terminal);
      await show(terminal, showing(options), async () => {
        const all = await client.limits(name === undefined || isGlob(name) ? '' : name);
        const limits = name === undefined || !isGlob(name) ? all : matching(name, 'limit', all, namesOf);
        const { output } = options;
        if (isForPrograms(output)) return documentText(limits, output, options.watch === true);
        if (output === 'name')
          return namesText(limits.map(({ plugin }) => visible(plugin)).filter((one) => one !== ''));
        return limitTable(limits, terminal.now(), painter(terminal.hasColours), output === 'wide');
      });
    });
}

/** The plugin of a bucket: `type/name`, and the name alone. */
function namesOf({ plugin }: LimitView): readonly string[] {
  return [plugin, plugin.slice(plugin.indexOf('/') + 1)];
}

/** The table of limits at a time; `isWide` adds figures of the policy. */
export function limitTable(limits: readonly LimitView[], now: number, paint: Paint, isWide = false): string {
  if (limits.length === 0) return 'no limit was ever spent from\n';
  const columns: readonly Column<LimitView>[] = [
    { title: 'LIMIT', of: (limit) => limit.limit },
    { title: 'PLUGIN', of: ownerOf },
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

/** Whose bucket it is: a plugin's; that of whoever calls as a uid; or everybody's. */
function ownerOf({ plugin, uid, limit }: LimitView): string {
  if (plugin !== '') return plugin;
  if (uid < 0) return '(all)';
  return limit === 'connections' || limit === 'allocate' ? '(any)' : '(invalid names)';
}

/** Red is a quarantine, and a session that was closed; slower than asked for is what a limit is there for. */
function toneOfSlowing({ slowing }: LimitView): 'bad' | 'warn' | 'plain' {
  if (slowing === '') return 'plain';
  return slowing === 'quarantined' || slowing === 'disconnected' ? 'bad' : 'warn';
}

function toneOfPermits(limit: LimitView): 'warn' | 'plain' {
  return limit.permits <= 0 ? 'warn' : 'plain';
}
