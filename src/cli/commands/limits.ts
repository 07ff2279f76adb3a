// `limits [NAME]`
import type { Command } from 'commander';
import type { LimitView } from '../../model/views.js';
import { duration, known, until } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { visibleJson } from '../output/text.js';
import { painter, type Paint } from '../output/tones.js';
import { show } from '../output/watch.js';
import { clientOf, showing, withAddress, withWatch, type AddressOptions, type WatchOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addLimits(program: Command, terminal: Terminal): void {
  const command = program.command('limits').argument('[name]', 'only the limits of this plugin');
  withWatch(withAddress(command))
    .summary('the flood policy at work: permits, strikes, quarantines')
    .description('Lists the buckets of the flood policy: permits now, when the next comes, strikes, and who is slowed.')
    .action(async (name: string | undefined, options: AddressOptions & WatchOptions) => {
      const client = clientOf(options, terminal);
      await show(terminal, showing(options), async () => {
        const limits = await client.limits(name ?? '');
        if (options.output === 'json') return `${visibleJson(limits, options.watch === true)}\n`;
        return limitTable(limits, terminal.now(), painter(terminal.hasColours));
      });
    });
}

/** The table of limits at a time. */
export function limitTable(limits: readonly LimitView[], now: number, paint: Paint): string {
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
    { title: 'EVERY', of: (limit) => duration(limit.intervalMs) },
    { title: 'NEXT', of: (limit) => (limit.nextInMs <= 0 ? '-' : duration(limit.nextInMs)) },
    { title: 'MODE', of: (limit) => limit.mode, tone: (limit) => (limit.mode === 'enforce' ? 'plain' : 'quiet') },
    { title: 'UID', of: (limit) => known(limit.uid) },
  ];
  return table(columns, limits, paint);
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
