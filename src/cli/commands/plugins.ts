// `plugins [NAME]`
import { InvalidArgumentError, Option, type Command } from 'commander';
import { CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN, pluginKey } from '../../model/ids.js';
import { PLUGIN_STATES } from '../../model/plugin.js';
import type { PluginView } from '../../model/views.js';
import { ago, known } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { toneOfState, type Paint } from '../output/tones.js';
import { showList, type ListOptions } from '../listing.js';
import { LIST_FORMATS, withAddress, withWatch } from '../options.js';
import type { Terminal } from '../terminal.js';

interface PluginsOptions extends ListOptions {
  readonly state?: ReadonlySet<string>;
  readonly type?: string;
}

/** Adds the command. */
export function addPlugins(program: Command, terminal: Terminal): void {
  const command = program
    .command('plugins')
    .argument('[name]', 'only plugins of this name, or of names that match a glob');
  withWatch(withAddress(command), LIST_FORMATS)
    .summary('plugins, one line for each incarnation')
    .description('Lists plugins, one line for each incarnation (one life of a socket), with state and reason.')
    .addOption(new Option('--state <states>', 'only those in one of these states: held,gone').argParser(stateList))
    .addOption(new Option('--type <type>', 'only those of this type').choices([DEVICE_PLUGIN, CSI_PLUGIN, DRA_PLUGIN]))
    .action((name: string | undefined, options: PluginsOptions) =>
      showList(terminal, options, name, {
        what: 'plugin',
        ask: (client, one) => client.plugins(one),
        namesOf: (one) => [one.name, pluginKey(one)],
        isWanted: ({ state, type }) => (options.state?.has(state) ?? true) && (options.type ?? type) === type,
        nameOf: pluginKey,
        text: (plugins, paint) => pluginTable(plugins, terminal.now(), paint, options.output === 'wide'),
      }),
    );
}

/** The table of plugins at a time; `isWide` adds the columns for which a screen is seldom wide enough. */
export function pluginTable(plugins: readonly PluginView[], now: number, paint: Paint, isWide = false): string {
  if (plugins.length === 0) return 'no plugins\n';
  const columns: readonly Column<PluginView>[] = [
    { title: 'NAME', of: (plugin) => plugin.name, tone: (plugin) => (plugin.primary ? 'plain' : 'quiet') },
    { title: 'STATE', of: (plugin) => plugin.state, tone: (plugin) => toneOfState(plugin.state) },
    { title: 'REASON', of: (plugin) => plugin.reason },
    { title: 'FOR', of: (plugin) => ago(plugin.stateSince, now) },
    { title: 'TYPE', of: (plugin) => plugin.type },
    { title: 'ROLE', of: (plugin) => (plugin.primary ? 'primary' : 'other') },
    { title: 'STRIKES', of: (plugin) => known(plugin.counters.strikes) },
  ];
  const more: readonly Column<PluginView>[] = [
    { title: 'REGISTERED', of: (plugin) => known(plugin.counters.registrations) },
    { title: 'REFUSED', of: (plugin) => known(plugin.counters.rejected) },
    { title: 'UID', of: (plugin) => known(plugin.uid) },
    { title: 'PID', of: (plugin) => known(plugin.pid) },
    { title: 'SOCKET', of: (plugin) => plugin.socket },
  ];
  return table(isWide ? [...columns, ...more] : columns, plugins, paint);
}

/** States of plugins and resources, separated by commas. */
export function stateList(text: string): ReadonlySet<string> {
  const states = text.split(',');
  const known: readonly string[] = PLUGIN_STATES;
  if (states.every((state) => known.includes(state))) return new Set(states);
  throw new InvalidArgumentError(`They must be some of ${known.join(', ')}, separated by commas.`);
}
