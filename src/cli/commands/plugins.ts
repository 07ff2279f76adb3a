// `plugins [NAME]`
import { InvalidArgumentError, Option, type Command } from 'commander';
import { CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN, pluginKey } from '../../model/ids.js';
import { PLUGIN_STATES } from '../../model/plugin.js';
import type { PluginView } from '../../model/views.js';
import { ago, known } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { documentText, isForPrograms, namesText, type OutputFormat } from '../output/format.js';
import { visible } from '../output/text.js';
import { painter, toneOfState, type Paint } from '../output/tones.js';
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

interface PluginsOptions extends AddressOptions, WatchOptions<OutputFormat> {
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
    .action(async (name: string | undefined, options: PluginsOptions) => {
      const client = clientOf(options, terminal);
      const { output, state, type } = options;
      await show(terminal, showing(options), async () => {
        const all = await client.plugins(name === undefined || isGlob(name) ? '' : name);
        const named =
          name === undefined || !isGlob(name)
            ? all
            : matching(name, 'plugin', all, (one) => [one.name, pluginKey(one)]);
        const plugins = named.filter((one) => (state?.has(one.state) ?? true) && (type ?? one.type) === one.type);
        if (isForPrograms(output)) return documentText(plugins, output, options.watch === true);
        if (output === 'name') return namesText(plugins.map((one) => visible(pluginKey(one))));
        return pluginTable(plugins, terminal.now(), painter(terminal.hasColours), output === 'wide');
      });
    });
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
