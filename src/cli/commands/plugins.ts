// `plugins [NAME]`
import type { Command } from 'commander';
import type { PluginView } from '../../model/views.js';
import { ago, known } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { visibleJson } from '../output/text.js';
import { painter, toneOfState, type Paint } from '../output/tones.js';
import { show } from '../output/watch.js';
import { clientOf, showing, withAddress, withWatch, type AddressOptions, type WatchOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addPlugins(program: Command, terminal: Terminal): void {
  const command = program.command('plugins').argument('[name]', 'only plugins of this name');
  withWatch(withAddress(command))
    .summary('plugins, one line for each incarnation')
    .description('Lists plugins, one line for each incarnation (one life of a socket), with state and reason.')
    .action(async (name: string | undefined, options: AddressOptions & WatchOptions) => {
      const client = clientOf(options, terminal);
      await show(terminal, showing(options), async () => {
        const plugins = await client.plugins(name ?? '');
        if (options.output === 'json') return `${visibleJson(plugins, options.watch === true)}\n`;
        return pluginTable(plugins, terminal.now(), painter(terminal.hasColours));
      });
    });
}

/** The table of plugins at a time. */
export function pluginTable(plugins: readonly PluginView[], now: number, paint: Paint): string {
  if (plugins.length === 0) return 'no plugins\n';
  const columns: readonly Column<PluginView>[] = [
    { title: 'NAME', of: (plugin) => plugin.name, tone: (plugin) => (plugin.primary ? 'plain' : 'quiet') },
    { title: 'TYPE', of: (plugin) => plugin.type },
    { title: 'STATE', of: (plugin) => plugin.state, tone: (plugin) => toneOfState(plugin.state) },
    { title: 'REASON', of: (plugin) => plugin.reason },
    { title: 'FOR', of: (plugin) => ago(plugin.stateSince, now) },
    { title: 'ROLE', of: (plugin) => (plugin.primary ? 'primary' : 'other') },
    { title: 'UID', of: (plugin) => known(plugin.uid) },
    { title: 'PID', of: (plugin) => known(plugin.pid) },
    { title: 'REGISTERED', of: (plugin) => known(plugin.counters.registrations) },
    { title: 'REFUSED', of: (plugin) => known(plugin.counters.rejected) },
    { title: 'STRIKES', of: (plugin) => known(plugin.counters.strikes) },
    { title: 'SOCKET', of: (plugin) => plugin.socket },
  ];
  return table(columns, plugins, paint);
}
