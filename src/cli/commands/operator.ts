// `pardon NAME`, `deregister NAME`, `forget NAME`
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import type { AdminClient } from '../../platform/grpc/admin-client.js';
import { pluginKey, type PluginId } from '../../model/ids.js';
import { isGlob, matching } from '../names.js';
import { clientOf, withAddress, type AddressOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

const VERBS = [
  {
    name: 'pardon',
    summary: 'lift a quarantine',
    description: 'Lifts the quarantine of a plugin and clears its strikes.',
    canForce: false,
    ask: (client: AdminClient, { name, type }: PluginId) => client.pardon({ name, type }),
  },
  {
    name: 'deregister',
    summary: 'close a plugin and keep this incarnation out',
    description: 'Closes a plugin and keeps it out until it comes with a new socket, as after a restart of the plugin.',
    canForce: true,
    ask: (client: AdminClient, meant: PluginId & { force: boolean }) => client.deregister(meant),
  },
  {
    name: 'forget',
    summary: 'drop a held, gone or rejected entry',
    description: 'Drops the entry of a plugin that is held, gone or rejected, and with it its resource.',
    canForce: true,
    ask: (client: AdminClient, meant: PluginId & { force: boolean }) => client.forget(meant),
  },
] as const;

/** Adds the three commands. */
export function addOperatorCommands(program: Command, terminal: Terminal): void {
  for (const { name, summary, description, canForce, ask } of VERBS) {
    const command = program.command(name).argument('<name>', 'the plugin, or a glob for several');
    withAddress(command)
      .summary(summary)
      .description(description)
      .option('--type <type>', 'type of the plugin, where the name is not unique')
      .action(async (given: string, options: AddressOptions & { readonly type?: string; readonly force?: boolean }) => {
        const client = clientOf(options, terminal);
        const [type, force] = [options.type ?? '', options.force === true];
        if (!isGlob(given)) {
          terminal.write(`${visible(await ask(client, { name: given, type, force }))}\n`);
          return;
        }
        const all = (await client.plugins('')).filter((plugin) => type === '' || plugin.type === type);
        const meant = matching(given, 'plugin', all, (plugin) => [plugin.name, pluginKey(plugin)]);
        const each = new Map(meant.map((plugin) => [pluginKey(plugin), plugin]));
        for (const plugin of each.values()) {
          terminal.write(`${visible(await ask(client, { name: plugin.name, type: plugin.type, force }))}\n`);
        }
      });
    if (canForce) command.option('--force', 'even though devices of it are in leases, which stay');
  }
}
